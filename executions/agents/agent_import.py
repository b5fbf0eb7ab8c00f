"""Import of agent JSON: each import creates a new agent, its sub-agents included."""

from __future__ import annotations

from accounts.models import User
from blocks.schema import JSON
from durable.database import in_transaction
from executions import limits
from executions.agents.agent_json import read_agent_json
from executions.agents.save import UNNAMED, SaveTarget, Stored, Storing, clean, store
from executions.graph import Graph
from executions.models import Agent, StoreListing


def import_agent(
    user: User,
    data: JSON,
    *,
    source: str = Agent.Source.IMPORTED,
    listing: StoreListing | None = None,
    how: Storing | None = None,
) -> Stored:
    """Save agent JSON as a new agent of the library, even if it cannot run yet.

    Importing the same JSON twice creates two agents; use `versions.save_graph` for a new version of an agent.
    Raises NotAGraph or GraphTooLarge.
    """
    return import_graph(user, read_agent_json(data), source=source, listing=listing, how=how or Storing())


@in_transaction
def import_graph(
    user: User, graph: Graph, *, source: str, listing: StoreListing | None = None, how: Storing
) -> Stored:
    """Save a parsed graph as a new agent."""
    incoming = clean(graph, how.registry)
    root = SaveTarget(
        agent=make_agent(user, incoming.graph, source, listing), version=first_version(incoming.graph)
    )
    subs = [make_part(root.agent, sub) for sub in incoming.subs]
    return store(incoming, root, subs, how)


def make_part(root: Agent, graph: Graph) -> SaveTarget:
    """Create a sub-agent, which the library does not list."""
    agent = make_agent(root.user, graph, root.source, root.listing, part_of=root)
    return SaveTarget(agent=agent, version=first_version(graph))


def make_agent(
    user: User, graph: Graph, source: str, listing: StoreListing | None, part_of: Agent | None = None
) -> Agent:
    fits = len(graph.id) <= limits.MAX_AGENT_ID_CHARACTERS
    return Agent.objects.create(
        user=user,
        name=name_of(graph),
        description=graph.description[: limits.MAX_AGENT_DESCRIPTION_CHARACTERS],
        source=source,
        imported_id=graph.id if fits else "",
        listing=listing,
        part_of=part_of,
    )


def name_of(graph: Graph) -> str:
    return " ".join(graph.name.split())[: limits.MAX_AGENT_NAME_CHARACTERS].strip() or UNNAMED


def first_version(graph: Graph) -> int:
    """Return the number of the first version, which continues the exported agent's count."""
    return graph.version if 1 <= graph.version <= limits.MAX_AGENT_VERSION else 1
