"""Repairs of ids: missing and duplicate ids of nodes and links, block names in place of ids."""

from __future__ import annotations

from dataclasses import replace

from blocks.errors import UnknownBlock
from blocks.registry import BlockRegistry
from executions import limits
from executions.agents.repair.fixes import AppliedFix, Fixed, derive_id
from executions.agents.validation.problems import Code
from executions.agents.validation.scope import Scope
from executions.graph import Graph, Link, Node


def fix_node_ids(graph: Graph, scope: Scope) -> Fixed:
    """Give every node a unique id; links stay with the first node that had the old one."""
    taken = {node.id for node in graph.nodes}
    seen: set[str] = set()
    moved: dict[str, str] = {}
    nodes: list[Node] = []
    fixes: list[AppliedFix] = []
    for number, node in enumerate(graph.nodes):
        first = node.id not in seen
        seen.add(node.id)
        if first and 0 < len(node.id) <= limits.MAX_AGENT_ID_CHARACTERS:
            nodes.append(node)
            continue
        new = fresh_id(taken, "node", graph.id, number, node.id)
        if first:
            moved[node.id] = new
        code = Code.MISSING_ID if not node.id else Code.BAD_ID if first else Code.DUPLICATE_ID
        fixes.append(AppliedFix(code=code, message=f"Gave nodes[{number}] the id {new}.", node_id=new))
        nodes.append(replace(node, id=new))
    links = tuple(move_link(link, moved) for link in graph.links)
    return Fixed(replace(graph, nodes=tuple(nodes), links=links), tuple(fixes))


def move_link(link: Link, moved: dict[str, str]) -> Link:
    if link.source_id not in moved and link.sink_id not in moved:
        return link
    source, sink = moved.get(link.source_id, link.source_id), moved.get(link.sink_id, link.sink_id)
    return replace(link, source_id=source, sink_id=sink)


def fix_link_ids(graph: Graph, scope: Scope) -> Fixed:
    taken = {link.id for link in graph.links}
    seen: set[str] = {""}
    links: list[Link] = []
    fixes: list[AppliedFix] = []
    for number, link in enumerate(graph.links):
        if link.id not in seen:
            seen.add(link.id)
            links.append(link)
            continue
        new = fresh_id(taken, "link", graph.id, number, link.id)
        code = Code.DUPLICATE_ID if link.id else Code.LINK_WITHOUT_ID
        fixes.append(AppliedFix(code=code, message=f"Gave links[{number}] the id {new}."))
        links.append(replace(link, id=new))
    return Fixed(replace(graph, links=tuple(links)), tuple(fixes))


def fix_block_ids(graph: Graph, scope: Scope) -> Fixed:
    """Replace block names by block ids."""
    fixes: list[AppliedFix] = []
    nodes: list[Node] = []
    for node in graph.nodes:
        block_id = named_block(node.block_id, scope.registry)
        if block_id:
            message = f"Used the id of the block named {node.block_id!r}."
            fixes.append(AppliedFix(code=Code.UNKNOWN_BLOCK, message=message, node_id=node.id))
        nodes.append(replace(node, block_id=block_id) if block_id else node)
    return Fixed(replace(graph, nodes=tuple(nodes)), tuple(fixes))


def named_block(text: str, registry: BlockRegistry) -> str:
    if not text or text in registry:
        return ""
    for name in (text, text.replace("_", " ")):
        try:
            return registry.get_by_name(name).id
        except UnknownBlock:
            continue
    return ""


def fresh_id(taken: set[str], *parts: object) -> str:
    new = derive_id(*parts)
    while new in taken:
        new = derive_id(new)
    taken.add(new)
    return new
