"""find_agent and find_library_agent: search the store and the user's own library."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from executions import limits as executions_limits
from executions.agents import library, store
from executions.agents.errors import AgentMissing
from executions.models import Agent
from executions.outside_content import OTHERS_AGENT
from tools import limits
from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.cards import AgentCard, agent_card, listing_card
from tools.context import ToolContext
from tools.errors import NoResults, as_tool_errors
from tools.preconditions import login_required


class StoreArgs(ToolArgs):
    query: str = Field(
        min_length=1,
        max_length=executions_limits.MAX_QUERY_CHARACTERS,
        description="Words, or username/slug.",
    )


class LibraryArgs(ToolArgs):
    query: str | None = Field(
        default=None,
        max_length=executions_limits.MAX_QUERY_CHARACTERS,
        description="Words; if empty, the newest agents.",
    )
    agent_id: str | None = Field(default=None, max_length=64, description="Only the agent with this id.")


class AgentsFound(ToolResult):
    type: Literal["agents_found"] = "agents_found"
    agents: list[AgentCard]
    count: int


@tool(reads=Reads.ALWAYS, holds=False)
def find_agent(args: StoreArgs, context: ToolContext) -> AgentsFound:
    """Find agents that others published in the store, by what they do or by username/slug."""
    with as_tool_errors():
        found = store.search_store(args.query, most=limits.FOUND_IN_CHAT)
    if not found:
        raise NoResults(
            f"No agent in the store matches {args.query!r}.",
            [
                "Use fewer words.",
                "Search the library with find_library_agent.",
                "Build one with create_agent.",
            ],
        )
    context.read_outside("the store")
    user = context.user if context.user_id is not None else None
    cards = [listing_card(match.item, store.find_copy(user, match.item) if user else None) for match in found]
    return answer(cards, "in the store", "Run one with run_agent and its username_agent_slug.")


@tool(gates=[login_required], reads=Reads.PERHAPS, holds=False)
def find_library_agent(args: LibraryArgs, context: ToolContext) -> AgentsFound:
    """Find agents in the user's own library, by words or by id, with their inputs and outputs."""
    agents = find(args, context)
    if not agents:
        raise NoResults(
            f"No agent in the library matches {args.query!r}." if args.query else "The library is empty.",
            [
                "Use fewer words.",
                "Search the store with find_agent.",
                "Build one with create_agent.",
            ],
        )
    if any(agent.listing_id for agent in agents):
        context.read_outside(OTHERS_AGENT)
    versions = library.newest_versions(agents)
    cards = [agent_card(agent, versions[agent.pk]) for agent in agents if agent.pk in versions]
    return answer(cards, "in the library", "Run one with run_agent and its library_agent_id.")


def find(args: LibraryArgs, context: ToolContext) -> list[Agent]:
    if args.agent_id:
        try:
            return [library.get_agent(context.user, args.agent_id)]
        except AgentMissing:
            raise NoResults(
                f"There is no agent {args.agent_id!r} in the library.", ["Search by words instead."]
            ) from None
    if not args.query:
        return list(library.agents_of(context.user)[: limits.FOUND_IN_CHAT])
    with as_tool_errors():
        found = library.search_library(context.user, args.query, most=limits.FOUND_IN_CHAT)
    return [match.item for match in found]


def answer(cards: list[AgentCard], where: str, next_step: str) -> AgentsFound:
    count = f"{len(cards)} agent{'' if len(cards) == 1 else 's'}"
    message = f"Found {count} {where}."
    return AgentsFound(message=message, next_step=next_step, agents=cards, count=len(cards))
