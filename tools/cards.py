"""Short descriptions of agents and blocks in tool results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blocks.base import Block
from executions.models import Agent, AgentVersion, StoreListing

MAX_DESCRIPTION_CHARACTERS = 400


class Card(BaseModel):
    """Base of items listed in a result."""

    model_config = ConfigDict(extra="forbid")


class AgentCard(Card):
    """An agent in the library or the store."""

    name: str
    description: str
    source: str
    library_agent_id: str | None = None
    username_agent_slug: str | None = None
    version: int
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    link: str
    can_run: bool = True


class BlockCard(Card):
    """A block with its pins."""

    id: str
    name: str
    description: str
    category: str
    inputs: dict[str, Any]
    required: list[str]
    outputs: dict[str, Any]
    can_run_alone: bool
    needs_credentials: str | None = None
    asks_first: bool = Field(default=False, description="A person must approve before it runs.")


def agent_link(agent_id: object) -> str:
    return f"/library/agents/{agent_id}"


def agent_card(agent: Agent, version: AgentVersion) -> AgentCard:
    return AgentCard(
        name=agent.name,
        description=agent.description[:MAX_DESCRIPTION_CHARACTERS],
        source="library",
        library_agent_id=str(agent.pk),
        username_agent_slug=slug_of(agent.listing) if agent.listing else None,
        version=version.version,
        inputs=brief_inputs(version.input_schema),
        outputs=brief(version.output_schema),
        link=agent_link(agent.pk),
        can_run=version.is_valid,
    )


def listing_card(listing: StoreListing, copy: Agent | None) -> AgentCard:
    published = listing.published
    return AgentCard(
        name=listing.name,
        description=listing.description[:MAX_DESCRIPTION_CHARACTERS],
        source="store",
        library_agent_id=str(copy.pk) if copy else None,
        username_agent_slug=slug_of(listing),
        version=published.version,
        inputs=brief_inputs(published.input_schema),
        outputs=brief(published.output_schema),
        link=f"/store/{slug_of(listing)}",
    )


def block_card(block: Block) -> BlockCard:
    need = block.credentials
    return BlockCard(
        id=block.id,
        name=block.name,
        description=block.description[:MAX_DESCRIPTION_CHARACTERS],
        category=str(block.category),
        inputs={pin.name: pin.type for pin in block.input_pins if not pin.hidden and not pin.provided},
        required=[pin.name for pin in block.input_pins if pin.required and not pin.provided],
        outputs={pin.name: pin.type for pin in block.output_pins},
        can_run_alone=block.runs_alone,
        needs_credentials=need.provider if need and need.required else None,
        asks_first=block.sensitive,
    )


def slug_of(listing: StoreListing) -> str:
    return f"{listing.user.username}/{listing.slug}"


def brief(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names and types of a schema's properties."""
    properties = schema.get("properties") or {}
    return {name: kind_of(value) for name, value in properties.items()}


def brief_inputs(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same for inputs, with which are required and the defaults of the others."""
    properties = schema.get("properties") or {}
    required = set(schema.get("required") or ())
    return {name: brief_input(value, needed=name in required) for name, value in properties.items()}


def brief_input(schema: Mapping[str, Any], *, needed: bool) -> dict[str, Any]:
    shown = {"type": kind_of(schema), "required": needed}
    for name in ("description", "default", "enum"):
        if schema.get(name) is not None:
            shown[name] = schema[name]
    return shown


def kind_of(schema: Mapping[str, Any]) -> str:
    return str(schema.get("type") or "any")
