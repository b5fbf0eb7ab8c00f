"""Resolution of the agent an Agent Executor refers to: by id, else by version and names of inputs and outputs.

Exports give sub-agents new ids without updating the nodes that use them, so an id alone is not enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from blocks.base import BlockType
from blocks.registry import BlockRegistry
from blocks.schema import JSON
from executions.agents.pins import properties_of
from executions.agents.schemas import Schemas, schemas_of
from executions.graph import Graph, Node

Test = Callable[["Signature"], bool]


@dataclass(frozen=True, kw_only=True)
class Signature:
    """What a node needs to know of the agent it runs."""

    name: str
    version: int
    schemas: Schemas
    id: str = ""
    first_problem: str = ""  # why it cannot run; empty when it can

    @property
    def input_names(self) -> frozenset[str]:
        return frozenset(properties_of(self.schemas.inputs))

    @property
    def output_names(self) -> frozenset[str]:
        return frozenset(properties_of(self.schemas.outputs))


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What an Agent Executor node knows of its agent."""

    graph_id: str
    version: int | None
    name: str
    input_names: frozenset[str] | None
    output_names: frozenset[str] | None


def signature_of(graph: Graph, registry: BlockRegistry) -> Signature:
    return Signature(id=graph.id, name=graph.name, version=graph.version, schemas=schemas_of(graph, registry))


def is_executor(node: Node, registry: BlockRegistry) -> bool:
    return node.block_id in registry and registry.get(node.block_id).type is BlockType.AGENT


def read_reference(node: Node) -> Reference:
    given = node.input_default
    version = given.get("graph_version")
    return Reference(
        graph_id=as_id(given.get("graph_id")),
        version=version if isinstance(version, int) and not isinstance(version, bool) else None,
        name=str(given.get("agent_name") or ""),
        input_names=names_in(given.get("input_schema")),
        output_names=names_in(given.get("output_schema")),
    )


def match_signature(
    reference: Reference,
    candidates: Sequence[Signature],
    *,
    owner: Signature | None = None,
    root: Signature | None = None,
) -> Signature | None:
    """Return the agent referred to: by id and version, id, version and names, or names; None if ambiguous.

    `owner` is the agent that contains the node, `root` the one they were all imported with: these match by id only,
    never by names.
    """
    others = [one for one in candidates if one is not owner]
    named = [*candidates, *([root] if root else [])]
    for pool, tests in (
        (named, (same_id(reference), same_version(reference))),
        (named, (same_id(reference),)),
        (others, (same_names(reference), same_version(reference))),
        (others, (same_names(reference),)),
    ):
        fitting = [one for one in pool if all(test(one) for test in tests)]
        called = [one for one in fitting if reference.name and one.name == reference.name]
        for group in (fitting, called):
            if len(group) == 1:
                return group[0]
    return None


def same_id(reference: Reference) -> Test:
    return lambda one: bool(reference.graph_id) and one.id == reference.graph_id


def same_version(reference: Reference) -> Test:
    return lambda one: one.version == reference.version


def same_names(reference: Reference) -> Test:
    """Match agents by the names of inputs and outputs; a node that gives neither matches nothing."""
    if reference.input_names is None or reference.output_names is None:
        return lambda one: False
    return lambda one: one.input_names == reference.input_names and one.output_names == reference.output_names


def names_in(schema: JSON) -> frozenset[str] | None:
    if not isinstance(schema, Mapping):
        return None
    return frozenset(name for name in properties_of(schema) if isinstance(name, str))


def as_id(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def flatten(graph: Graph) -> tuple[Graph, ...]:
    """Return all sub-graphs at any depth, in order and without duplicates."""
    found: dict[tuple[str, int] | int, Graph] = {}
    waiting = list(graph.sub_graphs)
    while waiting:
        sub = waiting.pop(0)
        found.setdefault((sub.id, sub.version) if sub.id else len(found), sub)
        waiting = [*sub.sub_graphs, *waiting]
    return tuple(replace(sub, sub_graphs=()) for sub in found.values())


def join_sub_agents(
    graph: Graph, find: Callable[[Reference], Signature | None], registry: BlockRegistry
) -> Graph:
    """Return the graph with each Agent Executor pointed at the agent found, if any."""
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
    """Return the schema of the node, by default that of the agent."""
    own = node.input_default.get(name)
    return own if isinstance(own, Mapping) and own.get("properties") else dict(derived)
