"""Save a graph as a version of an agent, together with its sub-agents."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from blocks.base import Block
from blocks.registry import BlockRegistry, get_registry
from durable.database import in_transaction
from durable.ids import new_id
from executions import limits
from executions.agents.lookup import find_agents
from executions.agents.schemas import schemas_of
from executions.agents.secrets import remove_secrets
from executions.agents.sub_agents import (
    Reference,
    Signature,
    flatten,
    join_sub_agents,
    match_signature,
    signature_of,
)
from executions.agents.validation import Code, Problem, Scope, ValidationReport, validate
from executions.agents.validation.links import ends_of
from executions.agents.validation.scope import allow_all
from executions.graph import Graph, graph_to_json
from executions.models import Agent, AgentVersion

UNNAMED = "Untitled agent"


@dataclass(frozen=True, kw_only=True)
class SaveTarget:
    """The agent and version number a graph is saved under."""

    agent: Agent
    version: int


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """A graph to be saved, without secrets, and notes on what was removed."""

    graph: Graph
    subs: tuple[Graph, ...]
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What was saved, and the problems found by validation."""

    version: AgentVersion
    report: ValidationReport
    changed: bool = True  # False: it was the newest version already

    @property
    def agent(self) -> Agent:
        return self.version.agent


@dataclass(frozen=True, kw_only=True)
class Storing:
    """How graphs are saved."""

    registry: BlockRegistry = field(default_factory=get_registry)
    may_use: Callable[[Block], bool] = allow_all
    note: str = ""
    outside_sources: tuple[str, ...] = ()  # what the copilot had read before it made the graph
    version_id: uuid.UUID | None = None  # of the root's version: made again under it, the database refuses


def clean(graph: Graph, registry: BlockRegistry) -> Incoming:
    """Return the graph and its sub-graphs without secrets, each link with an id."""
    subs = flatten(graph)
    warnings: list[Problem] = []
    cleaned = []
    for one in (replace(graph, sub_graphs=()), *subs):
        safe, places = remove_secrets(one, registry)
        cleaned.append(name_links(safe))
        warnings += [secret_removed(node_id, pin) for node_id, pin in places]
    return Incoming(graph=cleaned[0], subs=tuple(cleaned[1:]), warnings=tuple(warnings))


def name_links(graph: Graph) -> Graph:
    """Give links without an id one derived from their ends."""
    links = (
        link
        if link.id
        else replace(link, id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{number}:{ends_of(link)}")))
        for number, link in enumerate(graph.links)
    )
    return replace(graph, links=tuple(links))


def secret_removed(node_id: str, pin: str) -> Problem:
    message = f"A secret under {pin[:80]!r} was removed. Store it as a credential, which is used when the agent runs."
    return Problem(code=Code.SECRET_REMOVED, message=message, node_id=node_id[:200], pin=pin[:200])


@in_transaction
def store(incoming: Incoming, root: SaveTarget, subs: Sequence[SaveTarget], how: Storing) -> Stored:
    """Save a version of the root agent and of each sub-agent, joined to each other; `subs` in the graph's order."""
    placed = place(incoming, root, subs, how)
    library = find_agents(root.agent.user, (placed, *placed.sub_graphs), how.registry)
    scope = Scope(registry=how.registry, may_use=how.may_use, find_agent=library.find)
    for sub, where in zip(placed.sub_graphs, subs, strict=True):
        save_version(sub, where, validate_part(sub, placed, scope), how)
    report = validate(placed, scope)
    report = replace(report, warnings=(*incoming.warnings, *report.warnings)[: limits.MAX_AGENT_PROBLEMS])
    listed = [{"id": str(where.agent.pk), "version": where.version} for where in subs]
    version = save_version(replace(placed, sub_graphs=()), root, report, how, listed)
    return Stored(version=version, report=report)


def place(incoming: Incoming, root: SaveTarget, subs: Sequence[SaveTarget], how: Storing) -> Graph:
    """Return the graphs under their ids here, with Agent Executors that refer to them or to the library."""
    own, *parts = signatures = [signature_of(one, how.registry) for one in (incoming.graph, *incoming.subs)]
    places = (root, *subs)
    here = {
        id(signature): replace(signature, id=str(where.agent.pk), version=where.version)
        for signature, where in zip(signatures, places, strict=True)
    }
    library = find_agents(root.agent.user, (incoming.graph, *incoming.subs), how.registry)

    def join(graph: Graph, signature: Signature, where: SaveTarget) -> Graph:
        def find(reference: Reference) -> Signature | None:
            found = match_signature(reference, parts, owner=signature, root=own)
            return here[id(found)] if found else library.find(reference)

        joined = join_sub_agents(graph, find, how.registry)
        return replace(joined, id=str(where.agent.pk), version=where.version)

    first, *rest = map(join, (incoming.graph, *incoming.subs), signatures, places)
    return replace(first, sub_graphs=tuple(rest))


def validate_part(sub: Graph, placed: Graph, scope: Scope) -> ValidationReport:
    """Return a sub-graph alone: the others are saved beside it, not inside."""
    beside = [signature_of(other, scope.registry) for other in (placed, *placed.sub_graphs)]

    def find(reference: Reference) -> Signature | None:
        return match_signature(reference, beside) or scope.find_agent(reference)

    return validate(sub, replace(scope, find_agent=find))


def save_version(
    graph: Graph,
    where: SaveTarget,
    report: ValidationReport,
    how: Storing,
    subs: list[dict[str, object]] | None = None,
) -> AgentVersion:
    schemas = schemas_of(graph, how.registry)
    is_root = subs is not None
    version = AgentVersion.objects.create(
        id=how.version_id if is_root and how.version_id else new_id(),
        agent=where.agent,
        version=where.version,
        graph=graph_to_json(graph),
        input_schema=dict(schemas.inputs),
        output_schema=dict(schemas.outputs),
        problems=[problem.as_json() for problem in report.errors],
        warnings=[problem.as_json() for problem in report.warnings],
        sub_agents=subs or [],
        note=how.note[:500],
        outside_sources=list(how.outside_sources),
    )
    where.agent.latest_version = where.version
    where.agent.save(update_fields=["latest_version", "updated_at"])
    return version
