"""The context of validation: installed blocks, permitted blocks, and agents that may be run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from blocks.base import Block, BlockType
from blocks.registry import BlockRegistry, get_registry
from executions.agents.pins import NodePins, pins_of
from executions.agents.sub_agents import Reference, Signature, match_signature
from executions.graph import Graph, Link, Node

FindAgent = Callable[[Reference], Signature | None]


def allow_all(block: Block) -> bool:
    return True


def find_none(reference: Reference) -> Signature | None:
    return None


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What validation needs to know besides the graph."""

    registry: BlockRegistry = field(default_factory=get_registry)
    may_use: Callable[[Block], bool] = allow_all
    find_agent: FindAgent = find_none  # in the library


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A graph with the blocks and pins of its nodes."""

    graph: Graph
    scope: Scope
    embedded: tuple[Signature, ...] = ()  # the agents imported with it
    signature: Signature | None = None  # of the graph itself, if it is one of those
    root: Signature | None = None  # of the graph they were all imported with

    @cached_property
    def blocks(self) -> Mapping[str, Block]:
        """Map the ids of nodes to their blocks, for nodes with a known block."""
        registry = self.scope.registry
        nodes = self.graph.nodes_by_id.items()
        return {id: registry.get(node.block_id) for id, node in nodes if node.block_id in registry}

    @cached_property
    def pins(self) -> Mapping[str, NodePins]:
        nodes = self.graph.nodes_by_id
        return {node_id: pins_of(nodes[node_id], block) for node_id, block in self.blocks.items()}

    def known_nodes(self) -> Iterator[tuple[Node, Block]]:
        """Yield the nodes with a known block, each id once."""
        for node_id, block in self.blocks.items():
            yield self.graph.nodes_by_id[node_id], block

    def of_type(self, *kinds: BlockType) -> Iterator[Node]:
        return (node for node, block in self.known_nodes() if block.type in kinds)

    def find_agent(self, reference: Reference) -> Signature | None:
        """Return the agent a node refers to: one imported with the graph, else one of the library."""
        found = match_signature(reference, self.embedded, owner=self.signature, root=self.root)
        return found or self.scope.find_agent(reference)

    def title(self, node_id: str) -> str:
        """Return a node's display name for messages: its title on the canvas or its block's name, and its id."""
        node, block = self.graph.node(node_id), self.blocks.get(node_id)
        own = node.metadata.get("customized_name") if node else None
        name = own if isinstance(own, str) and own else block.name if block else "Node"
        return f"{name[:80]} ({node_id[:60]})"

    def joined_links(self) -> Iterator[Link]:
        """Yield the links with two existing nodes."""
        nodes = self.graph.nodes_by_id
        return (link for link in self.graph.links if link.source_id in nodes and link.sink_id in nodes)
