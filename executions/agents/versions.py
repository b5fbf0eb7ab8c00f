"""Versions of an agent. They are immutable: every change, also a revert, is a new version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.db.models import QuerySet

from accounts.models import User
from blocks.schema import JSON
from durable.database import in_transaction
from executions.agents.agent_import import make_part, name_of
from executions.agents.agent_json import read_agent_json
from executions.agents.errors import VersionMissing, VersionMoved
from executions.agents.lookup import find_agents
from executions.agents.save import SaveTarget, Stored, Storing, clean, save_version, store
from executions.agents.sub_agents import flatten
from executions.agents.validation import Scope, ValidationReport, validate
from executions.graph import Graph, graph_to_json, parse_graph
from executions.models import Agent, AgentVersion


def versions_of(agent: Agent) -> QuerySet[AgentVersion]:
    """Return all versions, newest first."""
    return AgentVersion.objects.filter(agent=agent).order_by("-version")


def get_version(agent: Agent, number: int | None = None) -> AgentVersion:
    """Return one version, by default the newest; raises VersionMissing."""
    wanted = agent.latest_version if number is None else number
    version = AgentVersion.objects.select_related("agent").filter(agent=agent, version=wanted).first()
    if version is None:
        raise VersionMissing
    return version


def save_graph(
    agent: Agent, data: JSON, *, on_version: int | None = None, how: Storing | None = None
) -> Stored:
    """Save agent JSON as the next version; the same graph as the newest is no new version.

    `on_version` is the version the change was made on: raises VersionMoved when there is a newer one.
    """
    return save_parsed(agent, read_agent_json(data), on_version=on_version, how=how or Storing())


@in_transaction
def save_parsed(agent: Agent, graph: Graph, *, on_version: int | None = None, how: Storing) -> Stored:
    """Save a parsed graph as the next version; writers take turns on the agent's row."""
    agent = lock(agent)
    if on_version is not None and on_version != agent.latest_version:
        raise VersionMoved
    newest = get_version(agent)
    incoming = clean(graph, how.registry)
    is_vouched_for = bool(newest.outside_sources) and not how.outside_sources  # saved anew by a person
    if not incoming.subs and not is_vouched_for and is_same(incoming.graph, newest):
        return Stored(version=newest, report=validate_version(newest), changed=False)
    subs = place_parts(agent, incoming.subs)
    return store(incoming, SaveTarget(agent=agent, version=agent.latest_version + 1), subs, how)


@in_transaction
def roll_back(agent: Agent, number: int) -> Stored:
    """Make the graph of an older version the newest; the versions between stay."""
    agent = lock(agent)
    older = get_version(agent, number)
    report = validate_version(older)
    graph = replace(parse_graph(older.graph), version=agent.latest_version + 1)
    where = SaveTarget(agent=agent, version=graph.version)
    how = Storing(note=f"Back to version {number}.", outside_sources=tuple(older.outside_sources))
    return Stored(version=save_version(graph, where, report, how, older.sub_agents), report=report)


def version_before(version: AgentVersion) -> AgentVersion | None:
    return versions_of(version.agent).filter(version__lt=version.version).first()


def validate_version(version: AgentVersion, scope: Scope | None = None) -> ValidationReport:
    """Validate a saved version again: blocks and sub-agents may have changed since."""
    return validate_graph(version.agent.user, parse_graph(version.graph), scope)


def validate_graph(user: User, graph: Graph, scope: Scope | None = None) -> ValidationReport:
    """Validate a graph that may run the agents of a user's library."""
    base = scope or Scope()
    library = find_agents(user, (graph, *flatten(graph)), base.registry)
    return validate(graph, replace(base, find_agent=library.find))


def place_parts(agent: Agent, subs: Sequence[Graph]) -> list[SaveTarget]:
    """Return where sub-graphs are saved: as the next version of a part, or as a new part."""
    rows = (
        Agent.objects.filter(part_of=agent, deleted_at=None)
        .select_for_update(no_key=True)
        .order_by("-created_at")
    )
    free = list(rows)
    places: list[SaveTarget] = []
    for sub in subs:
        known = [part for part in free if sub.id and sub.id in (str(part.pk), part.imported_id)]
        if not known:
            places.append(make_part(agent, sub))
            continue
        part = next((one for one in known if one.name == name_of(sub)), known[0])
        free.remove(part)
        places.append(SaveTarget(agent=part, version=part.latest_version + 1))
    return places


def lock(agent: Agent) -> Agent:
    return (
        Agent.objects.select_for_update(of=("self",), no_key=True)
        .select_related("user", "listing")
        .get(pk=agent.pk)
    )


def is_same(graph: Graph, version: AgentVersion) -> bool:
    """Return whether the graph equals the version, apart from the agent's own name and number."""
    own = parse_graph(version.graph)
    given = replace(graph, id=own.id, version=own.version, name=own.name, description=own.description)
    return graph_to_json(given) == graph_to_json(own)
