"""The platform's language model, as a port: any name an agent carries is mapped to what the endpoint serves."""

from __future__ import annotations

import re
from dataclasses import replace

from llm import complete, default_model, title_model
from llm.endpoint import Endpoint, current_endpoint
from llm.errors import BadModelRequest
from llm.types import CancelSignal, Completion, Request

OPENAI_NAMES = re.compile(r"(gpt-|chatgpt-|o[0-9])")


class PlatformModel:
    """Asks the configured endpoint; a model it does not serve is answered by the default one."""

    def complete(self, request: Request, cancel: CancelSignal) -> Completion:
        named = replace(request, model=request.model if serves(current_endpoint(), request.model) else "")
        try:
            return complete(named, cancelled=cancel)
        except BadModelRequest:
            if not named.model or named.model == default_model():
                raise
            return complete(replace(request, model=""), cancelled=cancel)


def serves(endpoint: Endpoint, name: str) -> bool:
    """Whether it is worth asking that endpoint for a model of that name."""
    if not name:
        return False
    if endpoint.is_openai:
        return OPENAI_NAMES.match(name) is not None
    if endpoint.host == "openrouter.ai":
        return "/" in name
    return name in (default_model(), title_model())
