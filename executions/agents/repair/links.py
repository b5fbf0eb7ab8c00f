"""Repairs of links: removes dangling and duplicate links, marks static ones."""

from __future__ import annotations

from dataclasses import replace

from executions.agents.pins import PinError
from executions.agents.repair.fixes import AppliedFix, Fixed
from executions.agents.validation.links import ends_of, find_source
from executions.agents.validation.problems import Code
from executions.agents.validation.scope import Checked, Scope
from executions.graph import Graph, Link


def remove_dangling(graph: Graph, scope: Scope) -> Fixed:
    kept: list[Link] = []
    fixes: list[AppliedFix] = []
    for link in graph.links:
        if link.source_id in graph.nodes_by_id and link.sink_id in graph.nodes_by_id:
            kept.append(link)
            continue
        message = f"Removed the link {link.id[:60]!r}: one of its nodes does not exist."
        fixes.append(AppliedFix(code=Code.DANGLING_LINK, message=message, pin=link.sink_name[:200]))
    return Fixed(replace(graph, links=tuple(kept)), tuple(fixes))


def remove_doubles(graph: Graph, scope: Scope) -> Fixed:
    """Keep the first of links between the same pins; it is static if one of them was."""
    kept: dict[tuple[str, str, str, str], Link] = {}
    fixes: list[AppliedFix] = []
    for link in graph.links:
        ends = ends_of(link)
        first = kept.setdefault(ends, link)
        if first is link:
            continue
        kept[ends] = replace(first, is_static=first.is_static or link.is_static)
        message = f"Removed the link {link.id[:60]!r}: {first.id[:60]!r} connects the same pins."
        fixes.append(
            AppliedFix(
                code=Code.DUPLICATE_LINK, message=message, node_id=link.sink_id, pin=link.sink_name[:200]
            )
        )
    return Fixed(replace(graph, links=tuple(kept.values())) if fixes else graph, tuple(fixes))


def mark_static(graph: Graph, scope: Scope) -> Fixed:
    checked = Checked(graph=graph, scope=scope)
    fixes: list[AppliedFix] = []
    links: list[Link] = []
    for link in graph.links:
        if should_be_static(link, checked):
            message = f"Marked the link from {checked.title(link.source_id)} as static."
            fixes.append(
                AppliedFix(
                    code=Code.NOT_STATIC, message=message, node_id=link.source_id, pin=link.source_name[:200]
                )
            )
            link = replace(link, is_static=True)  # noqa: PLW2901
        links.append(link)
    return Fixed(replace(graph, links=tuple(links)), tuple(fixes))


def should_be_static(link: Link, checked: Checked) -> bool:
    block = checked.blocks.get(link.source_id)
    if link.is_static or block is None or not block.static_output or checked.graph.node(link.sink_id) is None:
        return False
    try:
        return find_source(checked, link) is not None
    except PinError:
        return False
