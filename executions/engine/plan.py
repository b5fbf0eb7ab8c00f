"""The plan of one execution: each node with its block, initial values and links."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from blocks.base import ERROR_PIN, Block, BlockType
from blocks.errors import UnknownBlock
from blocks.pins import MISSING, read_pin
from blocks.ports import JSON
from blocks.prepare import keep_known
from blocks.registry import BlockRegistry
from executions.engine.errors import CannotPlan
from executions.graph import TOOLS_PREFIX, Graph, Link, Node

Load = Callable[[JSON], JSON]  # returns the value behind a reference


@dataclass(frozen=True, kw_only=True)
class PlannedNode:
    """One node with what its runs need."""

    node: Node
    block: Block
    values: Mapping[str, JSON]  # values of pins without links
    queued: tuple[str, ...]  # linked pins that consume one value per run
    static: tuple[str, ...]  # linked pins that keep their value
    looped: tuple[str, ...]  # linked back from a later node: the first run does not wait for them
    links: tuple[Link, ...]  # that start here
    pinned: tuple[tuple[str, JSON], ...] | None = None  # emitted instead of running the block

    @property
    def id(self) -> str:
        return self.node.id

    @property
    def name(self) -> str:
        """The display name of the node."""
        own = self.node.metadata.get("customized_name")
        return own if isinstance(own, str) and own else self.block.name

    @property
    def is_output(self) -> bool:
        return self.block.type is BlockType.OUTPUT

    @cached_property
    def secret_pins(self) -> frozenset[str]:
        return frozenset(pin.name for pin in self.block.input_pins if pin.secret)

    @cached_property
    def error_is_linked(self) -> bool:
        return any(link.source_name == ERROR_PIN for link in self.links)

    def is_tool_link(self, link: Link) -> bool:
        """Return whether the link offers its target node as a tool."""
        return link.is_tool_link and self.block.type is BlockType.AI

    @cached_property
    def _by_pin(self) -> Mapping[str, tuple[Link, ...]]:
        found: dict[str, list[Link]] = {}
        for link in self.links:
            names = {tool_pin(link)} if self.is_tool_link(link) else {link.source_name, link.source.pin}
            for name in names:
                found.setdefault(name, []).append(link)
        return {name: tuple(links) for name, links in found.items()}

    def carried(self, pin: str, value: JSON, load: Load) -> Iterator[tuple[Link, JSON]]:
        """Yield what each link carries when the node emits `value` on `pin`, in graph order."""
        for link in self._by_pin.get(pin, ()):
            if link.source_name == pin or self.is_tool_link(link):
                yield link, value
            elif (part := read_pin(load(value), link.source)) is not MISSING:
                yield link, part


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All nodes by id, in the order of the graph."""

    nodes: Mapping[str, PlannedNode]
    uncalled: frozenset[str] = frozenset()  # trigger blocks that were not called while another one was

    def starting(self) -> Iterator[PlannedNode]:
        """Yield the nodes that wait for nothing, without notes."""
        for node in self.nodes.values():
            if node.queued or node.static or node.id in self.uncalled:
                continue
            if node.block.type is not BlockType.NOTE:
                yield node


def make_plan(
    graph: Graph,
    registry: BlockRegistry,
    *,
    inputs: Mapping[str, JSON],
    node_inputs: Mapping[str, Mapping[str, JSON]] | None = None,
    pinned: Mapping[str, Sequence[Sequence[JSON]]] | None = None,
) -> Plan:
    """Return the plan of a run with these inputs; raises CannotPlan if the graph cannot be run.

    The nodes of `pinned` emit the outputs given there and are not run.
    """
    known = {node.id: find_block(registry, node) for node in graph.nodes}
    for link in graph.links:
        if link.source_id not in known or link.sink_id not in known:
            raise CannotPlan(f"The link {link.id} starts or ends at a node that does not exist.")
    masks, fixed = node_inputs or {}, pinned or {}
    planned = {
        node.id: plan_node(graph, node, known, inputs, masks.get(node.id) or {}) for node in graph.nodes
    }
    return Plan(
        nodes={key: pin_outputs(node, fixed[key]) if key in fixed else node for key, node in planned.items()},
        uncalled=find_uncalled(known, masks),
    )


def pin_outputs(node: PlannedNode, pairs: Sequence[Sequence[JSON]]) -> PlannedNode:
    return replace(node, pinned=tuple((str(pin), value) for pin, value in pairs))


def find_uncalled(blocks: Mapping[str, Block], called: Container[str]) -> frozenset[str]:
    """Return the trigger blocks that were not called, if others were."""
    hooks = [node_id for node_id, block in blocks.items() if block.type is BlockType.WEBHOOK_MANUAL]
    waiting = frozenset(node_id for node_id in hooks if node_id not in called)
    return waiting if len(waiting) < len(hooks) else frozenset()


def plan_node(
    graph: Graph,
    node: Node,
    blocks: Mapping[str, Block],
    inputs: Mapping[str, JSON],
    mask: Mapping[str, JSON],
) -> PlannedNode:
    block = blocks[node.id]
    kinds: dict[str, bool] = {}  # a pin is static if all links to it are
    for link in graph.links_into(node.id):
        is_static = link.is_static or blocks[link.source_id].static_output
        kinds[link.sink_name] = kinds.get(link.sink_name, True) and is_static
    looped = tuple(pin for pin in kinds if pin in block.loop_inputs)
    return PlannedNode(
        node=node,
        block=block,
        values=own_values(node, block, inputs) | dict(mask),
        queued=tuple(pin for pin, static in kinds.items() if not static and pin not in looped),
        static=tuple(pin for pin, static in kinds.items() if static and pin not in looped),
        looped=looped,
        links=graph.links_from(node.id),
    )


def own_values(node: Node, block: Block, inputs: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the values the node was saved with; an input of the agent has the value given for this run."""
    values = keep_known(block, node.input_default)
    name = node.input_default.get("name")
    if block.type is BlockType.INPUT and isinstance(name, str) and name in inputs:
        values["value"] = inputs[name]
    return values


def find_block(registry: BlockRegistry, node: Node) -> Block:
    try:
        return registry.get(node.block_id)
    except UnknownBlock:
        raise CannotPlan(
            f"The node {node.id} uses the block {node.block_id}, which is not available here."
        ) from None


def tool_pin(link: Link) -> str:
    """Return the pin on which an orchestrator emits an argument for a node, named after its target."""
    return f"{TOOLS_PREFIX}{link.sink_id}_~_{link.sink_name}"
