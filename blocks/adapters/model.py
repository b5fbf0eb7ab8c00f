"""The platform's language model; model names in agents are mapped to models of the endpoint."""

from __future__ import annotations

import re
from dataclasses import replace

from accounts.groups import group_names
from durable.stop_signal import StopSignal
from llm import complete, default_model, offers, title_model
from llm.endpoint import Endpoint
from llm.endpoints import current_endpoint, locate
from llm.errors import BadModelRequest
from llm.types import Completion, Request

OPENAI_NAMES = re.compile(r"(gpt-|chatgpt-|o[0-9])")


class PlatformModel:
    """Calls the site's endpoints; the default model stands in for models that they do not serve or that the owner of
    the agent may not use."""

    def complete(self, request: Request, cancel: StopSignal) -> Completion:
        named = replace(request, model=request.model if is_served(request.model, request.user) else "")
        if not named.model and not is_open(default_model(), request.user):
            named = replace(named, model=first_model_for(request.user))
        named = replace(named, fallbacks=offers.open_fallbacks(lambda: group_names(request.user)))
        try:
            return complete(named, cancelled=cancel)
        except BadModelRequest:
            if not request.model or named.model in ("", default_model()):
                raise
            return self.complete(replace(request, model=""), cancel)


def first_model_for(user_id: str) -> str:
    """Return the first model that a person may use who may not use the default one; raise BadModelRequest."""
    mine = offers.offered_models(group_names(user_id))
    if not mine:
        raise BadModelRequest(
            "No model is open to the owner of this agent. An operator should give them one."
        )
    return mine[0].name


def is_open(name: str, user_id: str) -> bool:
    """Return whether a person may use the endpoint of a model."""
    return offers.is_for_everybody(name) or offers.is_open(name, group_names(user_id))


def is_served(name: str, user_id: str = "") -> bool:
    """Return whether a model of that name may be available: an endpoint that this person may use has it, or does not
    list its models."""
    if not name or not is_open(name, user_id):
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
