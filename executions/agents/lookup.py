"""Lookup of the library agents that the nodes of a graph may refer to, in one query."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Q

from accounts.models import User
from blocks.registry import BlockRegistry
from executions.agents.schemas import Schemas
from executions.agents.sub_agents import Reference, Signature, is_executor, read_reference
from executions.graph import Graph
from executions.models import AgentVersion

WANTED = ("version", "input_schema", "output_schema", "problems", "agent__name", "agent__imported_id")


@dataclass(frozen=True, kw_only=True)
class Library:
    """Agents by their own id, else by the id they had before import; newest first."""

    by_id: Mapping[str, Mapping[int, Signature]]
    by_imported_id: Mapping[str, str]

    def find(self, reference: Reference) -> Signature | None:
        """Return the version the node names, else the newest one."""
        own = plain_id(reference.graph_id)
        versions = self.by_id.get(own) or self.by_id.get(self.by_imported_id.get(reference.graph_id, ""))
        if not versions:
            return None
        return versions.get(reference.version or 0) or versions[max(versions)]


def find_agents(user: User, graphs: Iterable[Graph], registry: BlockRegistry) -> Library:
    """Return every agent of the library that an Agent Executor of the graphs names."""
    wanted = {
        read_reference(node).graph_id
        for graph in graphs
        for node in graph.nodes
        if is_executor(node, registry)
    } - {""}
    if not wanted:
        return Library(by_id={}, by_imported_id={})
    ids = [parsed for one in wanted if (parsed := parse_id(one))]
    named = Q(agent__pk__in=ids) | Q(agent__imported_id__in=wanted, agent__part_of=None)
    rows = AgentVersion.objects.filter(named, agent__user=user, agent__deleted_at=None)
    by_id: dict[str, dict[int, Signature]] = {}
    imported: dict[str, str] = {}
    for row in rows.select_related("agent").only(*WANTED).order_by("agent__created_at", "version"):
        by_id.setdefault(str(row.agent_id), {})[row.version] = signature_of_row(row)
        if row.agent.imported_id:
            imported[row.agent.imported_id] = str(row.agent_id)
    return Library(by_id=by_id, by_imported_id=imported)


def signature_of_row(row: AgentVersion) -> Signature:
    return Signature(
        id=str(row.agent_id),
        name=row.agent.name,
        version=row.version,
        schemas=Schemas(inputs=row.input_schema, outputs=row.output_schema),
        first_problem=row.problems[0]["message"] if row.problems else "",
    )


def parse_id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def plain_id(text: str) -> str:
    parsed = parse_id(text)
    return str(parsed) if parsed else text
