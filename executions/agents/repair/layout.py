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
