"""Edits of a graph: patches, and redrawn graphs matched with the old one so that unchanged nodes keep their ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from executions.generator.drafts import NODE_NAMES, listed, read_draft, rename
from executions.generator.errors import BadDraft
from executions.graph import Graph, Link, Node

PATCH_KEYS = ("add_nodes", "update_nodes", "remove_nodes", "add_links", "remove_links")


def is_patch(answer: Mapping[str, Any]) -> bool:
    return answer.get("type") == "patch" or any(name in answer for name in PATCH_KEYS)


def change_graph(base: Graph, answer: Mapping[str, Any]) -> Graph:
    """Return the graph after a model's patch, or after its complete redraw; raises BadDraft."""
    inner = answer.get("patch")
    patch = inner if isinstance(inner, Mapping) else answer
    if is_patch(patch):
        return apply_patch(base, patch)
    return keep_unchanged(base, read_draft(answer))


def apply_patch(base: Graph, patch: Mapping[str, Any]) -> Graph:
    """Return the graph after removals, updates and additions, in that order; removed nodes lose their links."""
    gone = ids_in(patch.get("remove_nodes"))
    cut = ids_in(patch.get("remove_links"))
    unknown = sorted(gone - set(base.nodes_by_id))
    if unknown:
        raise BadDraft(f"remove_nodes contains {unknown[0]!r}, which is not a node of the agent.")
    added = read_added(patch)
    nodes = [change_node(node, patch) for node in base.nodes if node.id not in gone]
    kept = [
        link
        for link in base.links
        if link.id not in cut and link.source_id not in gone and link.sink_id not in gone
    ]
    taken = {node.id for node in nodes}
    twice = [node.id for node in added.nodes if node.id in taken]
    if twice:
        raise BadDraft(f"add_nodes uses the id {twice[0]!r}, which is taken. Use another, or update_nodes.")
    return replace(
        base,
        name=text_of(patch, "name", base.name),
        description=text_of(patch, "description", base.description),
        nodes=(*nodes, *added.nodes),
        links=(*kept, *number_links(added.links, kept)),
    )


def read_added(patch: Mapping[str, Any]) -> Graph:
    nodes, links = listed(patch.get("add_nodes")), listed(patch.get("add_links"))
    if nodes:
        return read_draft({"nodes": nodes, "links": links})
    drawn = read_draft({"nodes": [{"id": "-"}], "links": links}) if links else Graph()
    return replace(drawn, nodes=())


def change_node(node: Node, patch: Mapping[str, Any]) -> Node:
    """Return the node with its values updated; null removes a value."""
    for change in listed(patch.get("update_nodes")):
        wanted = rename(change, NODE_NAMES)
        if not isinstance(wanted, Mapping) or str(wanted.get("id")) != node.id:
            continue
        values = wanted.get("input_default")
        given = {**node.input_default, **(values if isinstance(values, Mapping) else {})}
        node = replace(
            node,
            block_id=text_of(wanted, "block_id", node.block_id),
            input_default={name: value for name, value in given.items() if value is not None},
        )
    return node


def number_links(added: tuple[Link, ...], kept: list[Link]) -> list[Link]:
    """Return the new links, those with a taken id without one; the repairs assign it."""
    taken = {link.id for link in kept}
    return [replace(link, id="") if link.id in taken else link for link in added]


def ids_in(value: Any) -> set[str]:
    rows = value if isinstance(value, list) else []
    return {str(row.get("id") if isinstance(row, Mapping) else row) for row in rows}


def text_of(given: Mapping[str, Any], name: str, default: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) and value.strip() else default


# --- a whole graph drawn anew ---------------------------------------------------------------------


def keep_unchanged(base: Graph, drawn: Graph) -> Graph:
    """Return the redrawn graph; what did not change keeps its old id and position."""
    ids = match_nodes(base, drawn)
    nodes = tuple(keep_node(base, replace(node, id=ids.get(node.id, node.id))) for node in drawn.nodes)
    moved = [
        replace(
            link,
            source_id=ids.get(link.source_id, link.source_id),
            sink_id=ids.get(link.sink_id, link.sink_id),
        )
        for link in drawn.links
    ]
    known = {ends(link): link for link in base.links}
    links = tuple(known.get(ends(link), link) for link in moved)
    return replace(
        base,
        name=drawn.name or base.name,
        description=drawn.description or base.description,
        nodes=nodes,
        links=links,
        sub_graphs=drawn.sub_graphs or base.sub_graphs,
        extra={**base.extra, **drawn.extra},
    )


def match_nodes(base: Graph, drawn: Graph) -> dict[str, str]:
    """Map new ids to old ones for nodes that differ in their id only; each old id is used once."""
    kept = {node.id for node in drawn.nodes}
    free = [node for node in base.nodes if node.id not in kept]
    found: dict[str, str] = {}
    for node in drawn.nodes:
        if node.id in base.nodes_by_id:
            continue
        same = next((old for old in free if is_same(old, node)), None)
        if same is not None:
            free.remove(same)
            found[node.id] = same.id
    return found


def is_same(old: Node, new: Node) -> bool:
    return old.block_id == new.block_id and dict(old.input_default) == dict(new.input_default)


def keep_node(base: Graph, node: Node) -> Node:
    """Return the node with the position and other fields that the model was not shown."""
    old = base.node(node.id)
    if old is None:
        return node
    return replace(node, metadata=old.metadata, extra={**old.extra, **node.extra})


def ends(link: Link) -> tuple[str, str, str, str]:
    return link.source_id, link.source_name, link.sink_id, link.sink_name
