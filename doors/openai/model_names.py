"""The models that a key may use: the copilot, the copilot with a certain model, and each agent of the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chat import model_choice
from doors.library import agents_by_slug
from doors.openai.access import Caller
from doors.openai.errors import UnknownModel
from durable.errors import InvalidFields
from executions.models import Agent

COPILOT = "copilot"
AGENT = "agent/"
OWNER = "ratchet"


@dataclass(frozen=True, kw_only=True)
class NamedModel:
    """A model of /v1: the copilot answering with `model` ("" for the usual one), or an agent."""

    id: str
    model: str = ""
    agent: Agent | None = None

    def as_json(self) -> dict[str, Any]:
        created = int(self.agent.created_at.timestamp()) if self.agent else 0
        return {"id": self.id, "object": "model", "created": created, "owned_by": OWNER}


def listed(caller: Caller) -> list[NamedModel]:
    """Return every model that the key may use."""
    found = [NamedModel(id=COPILOT)]
    found += [
        NamedModel(id=f"{COPILOT}/{offer.name}", model=offer.name)
        for offer in model_choice.offered(caller.user)
        if offer.name
    ]
    found += [NamedModel(id=name, agent=agent) for name, agent in agents(caller).items()]
    return [model for model in found if caller.may_use_model(model.id)]


def find(caller: Caller, name: str) -> NamedModel:
    """Return the model of this name; raise UnknownModel, also if the key may not use it."""
    if not name or not caller.may_use_model(name):
        raise UnknownModel(param="model")
    if name == COPILOT:
        return NamedModel(id=name)
    if name.startswith(AGENT):
        agent = agents(caller).get(name)
        if agent is None:
            raise UnknownModel(param="model")
        return NamedModel(id=name, agent=agent)
    kind, _, picked = name.partition("/")
    if kind != COPILOT or not picked:
        raise UnknownModel(param="model")
    try:
        return NamedModel(id=name, model=model_choice.check_pick(caller.user, picked))
    except InvalidFields:
        raise UnknownModel(param="model") from None


def agents(caller: Caller) -> dict[str, Agent]:
    """Return the person's agents by the name of their model."""
    return {f"{AGENT}{slug}": agent for slug, agent in agents_by_slug(caller.user).items()}
