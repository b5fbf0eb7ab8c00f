"""Which agent a call means: by its id in the library, by its name in the store, or by words."""

from __future__ import annotations

from executions.agents import library, store
from executions.agents.errors import AgentMissing, ListingMissing
from executions.models import Agent, StoreListing
from tools.context import ToolContext
from tools.errors import ModelRetry, NoResults, ToolError
from tools.refusals import as_tool_errors


def by_library_id(agent_id: str, context: ToolContext) -> Agent:
    try:
        return library.get_agent(context.user, agent_id)
    except AgentMissing:
        raise ToolError(
            f"There is no agent {agent_id!r} in the user's library. find_library_agent shows those there are.",
            code="not_found",
        ) from None


def listing_of(slug: str) -> StoreListing:
    username, slash, name = slug.strip().partition("/")
    if not slash or not username or not name:
        raise ModelRetry(
            f"{slug!r} names no agent of the store. Write username/slug, as find_agent shows it."
        )
    try:
        return store.get_listing(username, name)
    except ListingMissing:
        raise ToolError(
            f"There is no agent {slug!r} in the store. find_agent searches it.", code="not_found"
        ) from None


def by_store_slug(slug: str, context: ToolContext) -> Agent:
    """The user's copy of a published agent; one that is not in the library has never run for them."""
    found = store.find_copy(context.user, listing_of(slug))
    if found is None:
        raise ToolError(
            f"{slug!r} is in the store, but not in the user's library, so it has no runs of theirs. "
            "run_agent adds it and runs it.",
            code="not_in_library",
        )
    return found


def by_name(words: str, context: ToolContext) -> Agent:
    """The agent of the library that fits the words best."""
    with as_tool_errors():
        found = library.search_library(context.user, words, most=1)
    if not found:
        raise NoResults(
            f"No agent of the library is called anything like {words!r}.",
            ["find_library_agent shows the agents there are."],
        )
    return found[0].item
