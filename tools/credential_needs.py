"""Which accounts an agent or a block needs that its user has not given yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from executions.blocks.base import Block
from executions.blocks.registry import get_registry
from executions.credentials.finding import is_kept
from executions.graph import Graph, Node

PROVIDERS_LINK = "/account/credentials"


def missing_for_graph(user_id: int, graph: Graph) -> list[dict[str, Any]]:
    """One entry per provider that some node needs and the user has no credential for."""
    registry = get_registry()
    used = [(node, registry.get(node.block_id)) for node in graph.nodes if node.block_id in registry]
    return list(missing(user_id, used))


def missing_for_block(user_id: int, block: Block, values: dict[str, Any]) -> list[dict[str, Any]]:
    node = Node(id="", block_id=block.id, input_default=values)
    return list(missing(user_id, [(node, block)]))


def missing(user_id: int, used: Iterable[tuple[Node, Block]]) -> Iterator[dict[str, Any]]:
    told: set[str] = set()
    for node, block in used:
        need = block.credentials
        if need is None or not need.required or need.provider in told:
            continue
        if not is_kept(user_id, need.provider, chosen_id(node)):
            told.add(need.provider)
            yield {"provider": need.provider, "type": need.kind, "block": block.name, "note": need.note}


def chosen_id(node: Node) -> str:
    """The credential the node names, if it names one."""
    given = node.input_default.get("credentials")
    return str(given.get("id") or "") if isinstance(given, dict) else ""
