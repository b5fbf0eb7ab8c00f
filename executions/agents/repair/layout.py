"""Repair of positions: lays out nodes without one in the order of the data flow."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from executions.agents.repair.fixes import AppliedFix, Fixed
from executions.agents.validation.nodes import position_of, unplaced
from executions.agents.validation.problems import Code
from executions.agents.validation.scope import Scope
from executions.graph import Graph, Node

COLUMN, ROW = 550.0, 350.0  # wide and high enough for the card of a node


def lay_out(graph: Graph, scope: Scope) -> Fixed:
    lost = set(unplaced(graph.nodes))
    if not lost:
        return Fixed(graph, ())
    taken = {
        place
        for number, node in enumerate(graph.nodes)
        if number not in lost and (place := position_of(node))
    }
    columns = depths(graph)
    lowest = max((y for _, y in taken), default=-ROW) + ROW  # below everything that has a position
    rows: dict[int, int] = {}
    nodes: list[Node] = []
    for number, node in enumerate(graph.nodes):
        if number in lost:
            column = columns.get(node.id, 0)
            position = {"x": column * COLUMN, "y": lowest + rows.setdefault(column, 0) * ROW}
            rows[column] += 1
            node = replace(node, metadata={**node.metadata, "position": position})  # noqa: PLW2901
        nodes.append(node)
    fix = AppliedFix(code=Code.NO_POSITION, message=f"Gave {len(lost)} nodes a position on the canvas.")
    return Fixed(replace(graph, nodes=tuple(nodes)), (fix,))


def arrange(graph: Graph) -> Graph:
    """Return the graph with every node placed anew: one column after its furthest source, rows in graph order."""
    columns = longest_paths(graph)
    rows: dict[int, int] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        column = columns[node.id]
        row = rows.setdefault(column, 0)
        rows[column] += 1
        position = {"x": column * COLUMN, "y": row * ROW}
        nodes.append(replace(node, metadata={**node.metadata, "position": position}))
    return replace(graph, nodes=tuple(nodes))


def longest_paths(graph: Graph) -> dict[str, int]:
    """Return each node's column: one after its furthest source; a link that closes a cycle does not count."""
    columns: dict[str, int] = {}
    on_path: set[str] = set()
    for node in graph.nodes:
        stack = [node.id]
        while stack:
            current = stack[-1]
            if current in columns:
                stack.pop()
                continue
            on_path.add(current)
            sources = {link.source_id for link in graph.links_into(current)} & graph.nodes_by_id.keys()
            if waiting := [one for one in sources if one not in columns and one not in on_path]:
                stack.extend(sorted(waiting))
                continue
            columns[current] = 1 + max((columns[one] for one in sources if one in columns), default=-1)
            on_path.discard(stack.pop())
    return columns


def depths(graph: Graph) -> dict[str, int]:
    """Return each node's distance from a start node; a cycle nothing leads to starts at its first node."""
    found: dict[str, int] = {}
    starts = [node.id for node in graph.nodes if not graph.links_into(node.id)]
    for start in [*starts, *(node.id for node in graph.nodes)]:
        if start in found:
            continue
        found[start] = 0
        waiting = deque([start])
        while waiting:
            node_id = waiting.popleft()
            for link in graph.links_from(node_id):
                if link.sink_id not in found:
                    found[link.sink_id] = found[node_id] + 1
                    waiting.append(link.sink_id)
    return found
