"""Repairs of node values: stray credentials, misspelled choices, unnamed inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from blocks.base import Block, BlockType
from blocks.prepare import check_given
from blocks.schema import JSON
from executions.agents.nearest_names import nearest
from executions.agents.repair.fixes import AppliedFix, Fixed
from executions.agents.validation.nodes import filled_pins
from executions.agents.validation.problems import Code
from executions.agents.validation.scope import Checked, Scope
from executions.agents.validation.values import is_stray, sound_values
from executions.graph import Graph, Node

TRIGGER = "trigger"  # required by the time blocks, which ignore its value
NAMED = {BlockType.INPUT: "input", BlockType.OUTPUT: "output"}


def remove_strays(graph: Graph, scope: Scope) -> Fixed:
    """Remove credentials and keys that the block has no pin for."""
    checked = Checked(graph=graph, scope=scope)
    fixes: list[AppliedFix] = []

    def clean(node: Node) -> Node:
        pins = checked.pins.get(node.id)
        if pins is None or graph.node(node.id) is not node:
            return node
        stray = {name for name, value in node.input_default.items() if is_stray(name, value, pins)}
        for name in stray:
            message = (
                f"{checked.title(node.id)}: removed {name[:80]!r}; the provider's stored credential is used."
            )
            fixes.append(
                AppliedFix(code=Code.STRAY_CREDENTIALS, message=message, node_id=node.id, pin=name[:200])
            )
        kept = {name: value for name, value in node.input_default.items() if name not in stray}
        return replace(node, input_default=kept) if stray else node

    return Fixed(replace(graph, nodes=tuple(clean(node) for node in graph.nodes)), tuple(fixes))


def fill_values(graph: Graph, scope: Scope) -> Fixed:
    """Correct the spelling of choices; fill in missing names and triggers."""
    checked = Checked(graph=graph, scope=scope)
    names = {
        str(node.input_default.get("name"))
        for node in checked.of_type(*NAMED)
        if node.input_default.get("name")
    }
    fixes: list[AppliedFix] = []
    nodes: list[Node] = []
    for node in graph.nodes:
        block = checked.blocks.get(node.id)
        changes: dict[str, JSON] = {}
        if block and graph.node(node.id) is node:
            for fix, value in [*choices(node, block, checked), *missing(node, block, checked, names)]:
                changes[fix.pin] = value
                fixes.append(fix)
        nodes.append(replace(node, input_default={**node.input_default, **changes}) if changes else node)
    return Fixed(replace(graph, nodes=tuple(nodes)), tuple(fixes))


def choices(node: Node, block: Block, checked: Checked) -> Iterator[tuple[AppliedFix, JSON]]:
    """Yield corrections for values that are close to one of a pin's choices."""
    for problem in check_given(block, sound_values(checked, node, block)):
        pin, value = block.inputs_by_name.get(problem.pin), node.input_default.get(problem.pin)
        if pin is None or not pin.enum or not isinstance(value, str):
            continue
        found = nearest(value, [str(choice) for choice in pin.enum if isinstance(choice, str)])
        if found:
            message = f"{checked.title(node.id)}: changed {pin.name!r} from {value[:80]!r} to {found!r}."
            yield AppliedFix(code=Code.WRONG_TYPE, message=message, node_id=node.id, pin=pin.name), found


def missing(node: Node, block: Block, checked: Checked, names: set[str]) -> Iterator[tuple[AppliedFix, JSON]]:
    """Yield values for required inputs with one obvious value."""
    filled = filled_pins(checked, node)
    if block.type in NAMED and "name" not in filled:
        name = free_name(node, NAMED[block.type], names)
        names.add(name)
        message = f"{checked.title(node.id)}: named it {name!r}."
        yield AppliedFix(code=Code.MISSING_INPUT, message=message, node_id=node.id, pin="name"), name
    pin = block.inputs_by_name.get(TRIGGER)
    if pin and pin.required and TRIGGER not in filled:
        message = f"{checked.title(node.id)}: gave the input {TRIGGER!r} a value."
        yield AppliedFix(code=Code.MISSING_INPUT, message=message, node_id=node.id, pin=TRIGGER), "run"


def free_name(node: Node, kind: str, names: set[str]) -> str:
    title = node.input_default.get("title")
    wanted = title if isinstance(title, str) and title.strip() else kind
    numbers = range(1, len(names) + 2)
    candidates = [wanted, *(f"{wanted} {number}" for number in numbers)]
    return next(name for name in candidates if name not in names)
