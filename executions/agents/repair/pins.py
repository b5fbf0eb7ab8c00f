"""Repairs of pin names: replaces old names, and misspelled ones where only one pin can be meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from blocks.pins import SEPARATOR
from blocks.prepare import check_given
from blocks.schema import JSON
from executions.agents.nearest_names import nearest
from executions.agents.pins import NodePins, PinError, UnknownPin
from executions.agents.repair.fixes import AppliedFix, Fixed
from executions.agents.validation.problems import Code
from executions.agents.validation.scope import Checked, Scope
from executions.agents.validation.values import is_stray
from executions.graph import Graph, Link, Node


def fix_link_pins(graph: Graph, scope: Scope) -> Fixed:
    checked = Checked(graph=graph, scope=scope)
    fixes: list[AppliedFix] = []
    links = tuple(fix_link(link, checked, fixes) for link in graph.links)
    return Fixed(replace(graph, links=links), tuple(fixes))


def fix_link(link: Link, checked: Checked, fixes: list[AppliedFix]) -> Link:
    source, sink = checked.pins.get(link.source_id), checked.pins.get(link.sink_id)
    if source and (name := better_output(link.source_name, source)):
        fixes.append(renamed(Code.UNKNOWN_PIN, link.source_id, link.source_name, name, checked))
        link = replace(link, source_name=name)
    if sink and (name := sink.current_name(link.sink_name)) != link.sink_name:
        fixes.append(renamed(Code.OLD_NAME, link.sink_id, link.sink_name, name, checked))
        link = replace(link, sink_name=name)
    if sink and (name := better_input(link.sink_name, sink)):
        fixes.append(renamed(Code.UNKNOWN_PIN, link.sink_id, link.sink_name, name, checked))
        link = replace(link, sink_name=name)
    return link


def better_output(name: str, pins: NodePins) -> str:
    """Return the output that must be meant; empty when the name is correct or ambiguous."""
    try:
        pins.find_output(name)
    except UnknownPin:
        return rename(name, list(pins.output_names()))
    except PinError:
        return ""
    return ""


def better_input(name: str, pins: NodePins) -> str:
    """Return the input that must be meant; empty when the name is correct or ambiguous."""
    try:
        pins.find_input(name)
    except UnknownPin:
        return rename(name, list(pins.input_names()))
    except PinError:
        return ""
    return ""


def rename(name: str, names: list[str]) -> str:
    """Return the nearest name, followed by the rest of a nested name."""
    match = SEPARATOR.search(name)
    base, rest = (name[: match.start()], name[match.start() :]) if match else (name, "")
    found = nearest(base, names) if base else None
    return f"{found}{rest}" if found and found != base else ""


def renamed(code: Code, node_id: str, old: str, new: str, checked: Checked) -> AppliedFix:
    message = f"{checked.title(node_id)}: changed the pin {old[:80]!r} to {new[:80]!r}."
    return AppliedFix(code=code, message=message, node_id=node_id, pin=new[:200])


# --- values on nodes ----------------------------------------------------------------------------


def fix_value_names(graph: Graph, scope: Scope) -> Fixed:
    checked = Checked(graph=graph, scope=scope)
    fixes: list[AppliedFix] = []
    nodes = tuple(fix_names(node, checked, fixes) for node in graph.nodes)
    return Fixed(replace(graph, nodes=nodes), tuple(fixes))


def fix_names(node: Node, checked: Checked, fixes: list[AppliedFix]) -> Node:
    pins = checked.pins.get(node.id)
    if pins is None or checked.graph.node(node.id) is not node:
        return node
    linked = {link.sink.pin for link in checked.graph.links_into(node.id)}
    given: dict[str, JSON] = {}
    for name, value in node.input_default.items():
        code, new = new_name(name, value, pins, taken={*node.input_default, *given}, linked=linked)
        if new != name:
            fixes.append(renamed(code, node.id, name, new, checked))
        if (
            new == name or new not in node.input_default
        ):  # a value under the current name takes precedence over one under the old name
            given[new] = value
    return replace(node, input_default=given) if given != node.input_default else node


def new_name(
    name: str, value: JSON, pins: NodePins, *, taken: set[str], linked: set[str]
) -> tuple[Code, str]:
    current = pins.current_name(name)
    if current != name:
        return Code.OLD_NAME, current
    if value is None or name in pins.block.ignored_inputs or is_stray(name, value, pins):
        return Code.UNKNOWN_INPUT, name
    better = better_input(name, pins)
    free = better and better not in taken and SEPARATOR.split(better, maxsplit=1)[0] not in linked
    return Code.UNKNOWN_INPUT, better if free and fits(better, value, pins) else name


def fits(name: str, value: JSON, pins: NodePins) -> bool:
    values: Mapping[str, JSON] = {name: value}
    try:
        pins.find_input(name)
    except PinError:
        return False
    return not check_given(pins.block, values)
