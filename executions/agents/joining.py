"""Agent Executor nodes joined to the agents they mean: the id and version they have here, and their schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from executions.agents.sub_agents import Reference, Signature, is_executor, read_reference
from executions.blocks.registry import Registry
from executions.blocks.schema import JSON
from executions.graph import Graph, Node


def join_sub_agents(graph: Graph, find: Callable[[Reference], Signature | None], registry: Registry) -> Graph:
    """The graph with each of its Agent Executors pointed at the agent found; the others stay as they are."""
    nodes = tuple(join_node(node, find) if is_executor(node, registry) else node for node in graph.nodes)
    return replace(graph, nodes=nodes)


def join_node(node: Node, find: Callable[[Reference], Signature | None]) -> Node:
    found = find(read_reference(node))
    if found is None:
        return node
    given = {
        **node.input_default,
        "graph_id": found.id,
        "graph_version": found.version,
        "input_schema": own_schema(node, "input_schema", found.schemas.inputs),
        "output_schema": own_schema(node, "output_schema", found.schemas.outputs),
    }
    return replace(node, input_default=given)


def own_schema(node: Node, name: str, derived: Mapping[str, JSON]) -> JSON:
    """The schema the node came with, or the agent's own where it came without."""
    own = node.input_default.get(name)
    return own if isinstance(own, Mapping) and own.get("properties") else dict(derived)
