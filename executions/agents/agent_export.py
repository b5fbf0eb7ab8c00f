"""Export of an agent as agent JSON, with the agents it runs and without private data.

Agents keep the ids they were imported with, so that an export, imported and exported again, is the same document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from blocks.registry import BlockRegistry, get_registry
from blocks.schema import JSON
from executions.agents.lookup import parse_id
from executions.agents.schemas import schemas_of
from executions.agents.secrets import remove_private
from executions.agents.sub_agents import is_executor, read_reference
from executions.graph import Graph, Node, graph_to_json, link_to_json, parse_graph
from executions.models import Agent, AgentVersion

Key: TypeAlias = tuple[str, int]  # an agent of the library and its version


def export_version(version: AgentVersion, registry: BlockRegistry | None = None) -> dict[str, JSON]:
    """Return the whole agent as one document."""
    known = registry or get_registry()
    rows = gather(version, known)
    names = public_ids(rows)
    root, *subs = [export_row(row, names, known) for row in rows.values()]
    return root | {"sub_graphs": subs}


def gather(version: AgentVersion, registry: BlockRegistry) -> dict[Key, AgentVersion]:
    """Return the version, the agents imported with it in order, then the other agents they run."""
    rows = {key_of(version): version}
    waiting = [*listed_keys(version), *run_keys(version, registry)]
    while waiting:
        wanted = [key for key in dict.fromkeys(waiting) if key not in rows]
        found = fetch(version.agent, wanted)
        fresh = [key for key in wanted if key in found]
        rows |= {key: found[key] for key in fresh}
        waiting = [key for one in fresh for key in run_keys(rows[one], registry)]
    return rows


def fetch(agent: Agent, keys: list[Key]) -> dict[Key, AgentVersion]:
    """Return the owner's versions that exist, those of deleted agents included, because they can still be run."""
    ids = {parsed for agent_id, _ in keys if (parsed := parse_id(agent_id))}
    rows = AgentVersion.objects.filter(agent__in=ids, agent__user=agent.user_id).select_related("agent")
    return {key_of(row): row for row in rows if key_of(row) in set(keys)}


def key_of(version: AgentVersion) -> Key:
    return str(version.agent_id), version.version


def listed_keys(version: AgentVersion) -> Iterator[Key]:
    for listed in version.sub_agents:
        yield str(listed["id"]), int(listed["version"])


def run_keys(version: AgentVersion, registry: BlockRegistry) -> Iterator[Key]:
    """Yield the agents that its nodes run."""
    for node in parse_graph(version.graph).nodes:
        if is_executor(node, registry):
            reference = read_reference(node)
            yield reference.graph_id, reference.version or 0


def public_ids(rows: Mapping[Key, AgentVersion]) -> dict[Key, str]:
    """Return the exported id of each agent: the one it was imported with, unless another of them has it."""
    taken: set[Key] = set()
    names: dict[Key, str] = {}
    for key, row in rows.items():
        name = row.agent.imported_id
        names[key] = name if name and (name, row.version) not in taken else key[0]
        taken.add((names[key], row.version))
    return names


def export_row(row: AgentVersion, names: Mapping[Key, str], registry: BlockRegistry) -> dict[str, JSON]:
    graph = remove_private(parse_graph(row.graph), registry)
    graph = replace(
        graph,
        id=names[key_of(row)],
        version=row.version,
        name=row.agent.name,
        description=row.agent.description,
        nodes=tuple(rename_agent(node, names, registry) for node in graph.nodes),
    )
    schemas = schemas_of(graph, registry)
    extra = {**graph.extra, "input_schema": schemas.inputs, "output_schema": schemas.outputs}
    return graph_to_json(replace(graph, nodes=refresh_copies(graph), extra=extra))


def rename_agent(node: Node, names: Mapping[Key, str], registry: BlockRegistry) -> Node:
    """Return an Agent Executor with the exported id of its agent."""
    if not is_executor(node, registry):
        return node
    reference = read_reference(node)
    name = names.get((reference.graph_id, reference.version or 0))
    return replace(node, input_default={**node.input_default, "graph_id": name}) if name else node


def refresh_copies(graph: Graph) -> tuple[Node, ...]:
    """Update the fields of the graph that some exports repeat on each node."""

    def refresh(node: Node) -> Node:
        today = {
            "graph_id": graph.id,
            "graph_version": graph.version,
            "input_links": [link_to_json(link) for link in graph.links_into(node.id)],
            "output_links": [link_to_json(link) for link in graph.links_from(node.id)],
        }
        return replace(node, extra={name: today.get(name, value) for name, value in node.extra.items()})

    return tuple(refresh(node) for node in graph.nodes)
