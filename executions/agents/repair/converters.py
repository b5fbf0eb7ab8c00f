"""Repair of links whose types can never fit: inserts a Universal Type Converter."""

from __future__ import annotations

from dataclasses import replace

from executions.agents.pins import PinError
from executions.agents.repair.fixes import AppliedFix, Fixed
from executions.agents.repair.ids import fresh_id
from executions.agents.validation.links import find_sink, find_source
from executions.agents.validation.nodes import position_of
from executions.agents.validation.problems import Code
from executions.agents.validation.scope import Checked, Scope
from executions.agents.validation.types import can_fit, converter_type
from executions.graph import Graph, Link, Node

CONVERTER = "95d1b990-ce13-4d88-9737-ba5c2070c97b"
BELOW = 150.0  # a converter is placed halfway and a little lower, so that it hides no link


def insert_converters(graph: Graph, scope: Scope) -> Fixed:
    if CONVERTER not in scope.registry:
        return Fixed(graph, ())
    checked = Checked(graph=graph, scope=scope)
    taken = {node.id for node in graph.nodes} | {link.id for link in graph.links}
    nodes, links, fixes = list(graph.nodes), list[Link](), list[AppliedFix]()
    for link in graph.links:
        target = wanted_type(link, checked)
        if not target:
            links.append(link)
            continue
        node = make_node(link, target, checked, fresh_id(taken, "converter", graph.id, link.id))
        nodes.append(node)
        links.append(replace(link, sink_id=node.id, sink_name="value"))
        links.append(
            Link(
                id=fresh_id(taken, "converted", graph.id, link.id),
                source_id=node.id,
                source_name="value",
                sink_id=link.sink_id,
                sink_name=link.sink_name,
            )
        )
        message = f"Inserted a converter to {target} before {link.sink_name[:80]!r} of {checked.title(link.sink_id)}."
        fixes.append(
            AppliedFix(code=Code.TYPE_MISMATCH, message=message, node_id=node.id, pin=link.sink_name[:200])
        )
    return Fixed(replace(graph, nodes=tuple(nodes), links=tuple(links)) if fixes else graph, tuple(fixes))


def wanted_type(link: Link, checked: Checked) -> str:
    """Return the type to convert to; empty when the value fits, or no conversion would help."""
    try:
        source, sink = find_source(checked, link), find_sink(checked, link)
    except PinError:
        return ""
    if source is None or sink is None or can_fit(source.schema, sink.schema, scalar_key=sink.scalar_key):
        return ""
    return converter_type(sink.schema)


def make_node(link: Link, target: str, checked: Checked, node_id: str) -> Node:
    ends = [checked.graph.node(link.source_id), checked.graph.node(link.sink_id)]
    places = [place for node in ends if node and (place := position_of(node))]
    metadata = {}
    if len(places) == 2:
        x, y = ((places[0][axis] + places[1][axis]) / 2 for axis in (0, 1))
        metadata = {"position": {"x": x, "y": y + BELOW}}
    return Node(id=node_id, block_id=CONVERTER, input_default={"type": target}, metadata=metadata)
