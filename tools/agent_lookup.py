"""Find the agents that a tool call names: by library id, by store slug, or by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from executions import limits as executions_limits
from executions.agents import library, store
from executions.agents.errors import AgentMissing, ListingMissing
from executions.agents.search import Match
from executions.generator.requests import ReusableAgent
from executions.models import Agent, AgentVersion, StoreListing
from executions.outside_content import OTHERS_AGENT
from tools import limits
from tools.cards import AgentCard, agent_card, listing_card
from tools.context import ToolContext
from tools.errors import ModelRetry, NoResults, ToolError, as_tool_errors


def by_library_id(agent_id: str, context: ToolContext) -> Agent:
    try:
        return library.get_agent(context.user, agent_id)
    except AgentMissing:
        raise ToolError(
            f"There is no agent {agent_id!r} in the library.",
            code="not_found",
            next_step="List the agents with find_library_agent.",
        ) from None


def by_library_id_or_removed(agent_id: str, context: ToolContext) -> Agent:
    """Return the user's agent, also one that they removed from the library: its runs remain."""
    try:
        return library.get_removed_agent(context.user, agent_id)
    except AgentMissing:
        return by_library_id(agent_id, context)


def listing_of(slug: str) -> StoreListing:
    username, slash, name = slug.partition("/")
    if not slash or not username or not name:
        raise ModelRetry(
            f"{slug!r} is not the name of a store agent.", next_step="Write username/slug, as in find_agent."
        )
    try:
        return store.get_listing(username, name)
    except ListingMissing:
        raise ToolError(
            f"There is no agent {slug!r} in the store.", code="not_found", next_step="Search with find_agent."
        ) from None


def by_store_slug(slug: str, context: ToolContext) -> Agent:
    """Return the user's copy of a published agent; raises ToolError when it is not in their library."""
    found = store.find_copy(context.user, listing_of(slug))
    if found is None:
        raise ToolError(
            f"{slug!r} is in the store but not in the library, so there are no runs of it.",
            code="not_in_library",
            next_step="Add it and run it with run_agent.",
        )
    return found


def by_name(words: str, context: ToolContext) -> Agent:
    """Return the library agent that matches the words best."""
    with as_tool_errors():
        found = library.search_library(context.user, words, most=1)
    if not found:
        raise NoResults(
            f"No agent in the library matches {words!r}.", ["List the agents with find_library_agent."]
        )
    return found[0].item


# --- agents like a new one ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SimilarAgents:
    """Agents that may do already what a new one is asked to do."""

    library: tuple[Agent, ...] = ()
    store: tuple[StoreListing, ...] = ()

    def cards(self) -> list[AgentCard]:
        versions = library.newest_versions(list(self.library))
        own = [agent_card(agent, versions[agent.pk]) for agent in self.library if agent.pk in versions]
        return [*own, *(listing_card(listing, None) for listing in self.store)]


def find_similar(goal: str, context: ToolContext) -> SimilarAgents:
    """Return the agents of the library and the store that fit a goal well, best first."""
    words = goal[: executions_limits.MAX_QUERY_CHARACTERS]
    most = limits.SIMILAR_AGENTS
    own = [match.item for match in library.search_library(context.user, words, most=most) if fits(match)]
    offered = [match.item for match in store.search_store(words, most=most) if fits(match)]
    others = tuple(listing for listing in offered if store.find_copy(context.user, listing) is None)
    if any(agent.listing_id for agent in own):
        context.read_outside(OTHERS_AGENT)
    if others:
        context.read_outside("the store")
    return SimilarAgents(library=tuple(own), store=others)


def fits(match: Match[Any]) -> bool:
    return match.score >= limits.SIMILAR_AGENT_SCORE


# --- parts of a new agent -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FoundParts:
    """Library agents that a new agent may use, and notes about those that were not found."""

    parts: tuple[ReusableAgent, ...] = ()
    notes: tuple[str, ...] = ()


def find_parts(ids: Sequence[str], context: ToolContext, *, leave_out: Agent | None = None) -> FoundParts:
    """Return the agents with these ids, each once, without `leave_out`: an agent cannot be part of itself."""
    agents: dict[str, Agent] = {}
    missing: list[str] = []
    for agent_id in list(dict.fromkeys(ids))[: limits.MAX_BUILDING_PARTS]:
        try:
            agent = library.get_agent(context.user, agent_id)
        except AgentMissing:
            missing.append(agent_id)
            continue
        if leave_out is None or agent.pk != leave_out.pk:
            agents[str(agent.pk)] = agent
    versions = library.newest_versions(list(agents.values()))
    parts = tuple(_part(agent, versions[agent.pk]) for agent in agents.values() if agent.pk in versions)
    notes = (f"Not in the library, so not used: {', '.join(missing)}.",) if missing else ()
    return FoundParts(parts=parts, notes=notes)


def _part(agent: Agent, version: AgentVersion) -> ReusableAgent:
    return ReusableAgent(
        id=str(agent.pk),
        version=version.version,
        name=agent.name,
        description=agent.description,
        input_schema=version.input_schema,
        output_schema=version.output_schema,
    )
