"""The platform's language model; model names in agents are mapped to models of the endpoint."""

from __future__ import annotations

import re
from dataclasses import replace

from durable.stop_signal import StopSignal
from llm import complete, default_model, title_model
from llm.endpoint import Endpoint
from llm.endpoints import current_endpoint, locate
from llm.errors import BadModelRequest
from llm.types import Completion, Request

OPENAI_NAMES = re.compile(r"(gpt-|chatgpt-|o[0-9])")


class PlatformModel:
    """Calls the configured endpoint; the default model stands in for models it does not serve."""

    def complete(self, request: Request, cancel: StopSignal) -> Completion:
        named = replace(request, model=request.model if is_served(request.model) else "")
        try:
            return complete(named, cancelled=cancel)
        except BadModelRequest:
            if not named.model or named.model == default_model():
                raise
            return complete(replace(request, model=""), cancelled=cancel)


def is_served(name: str) -> bool:
    """Return whether a model of that name may be available: an endpoint has it, or does not list its models."""
    if not name:
        return False
    at = locate(name)
    return at.model != name or at.endpoint.serves(name) or serves(current_endpoint(), name)


def serves(endpoint: Endpoint, name: str) -> bool:
    """Return whether the endpoint is likely to serve a model of that name."""
    if not name:
        return False
    if endpoint.is_openai:
        return OPENAI_NAMES.match(name) is not None
    if endpoint.host == "openrouter.ai":
        return "/" in name
    return name in (default_model(), title_model())
