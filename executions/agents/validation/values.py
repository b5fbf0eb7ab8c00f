"""Checks of node values: known names, fitting types, no secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blocks.base import Block
from blocks.prepare import check_given, keep_known
from blocks.schema import JSON
from executions.agents.nearest_names import did_you_mean
from executions.agents.pins import BadNestedPin, NodePins, PinError
from executions.agents.secrets import is_reference, is_stray_secret, suspicious_pins
from executions.agents.validation.problems import Code, Problem
from executions.agents.validation.scope import Checked
from executions.graph import Node


def check_values(checked: Checked) -> Iterator[Problem]:
    for node, block in checked.known_nodes():
        yield from check_names(checked, node, block)
        yield from check_types(checked, node, block)
        yield from check_secrets(checked, node)


def check_names(checked: Checked, node: Node, block: Block) -> Iterator[Problem]:
    pins = checked.pins[node.id]
    for name, value in node.input_default.items():
        if name in block.ignored_inputs or value is None or is_stray(name, value, pins):
            continue
        try:
            pins.find_input(name)
        except BadNestedPin as error:
            message = f"{checked.title(node.id)}: {error}"
            yield Problem(code=Code.BAD_NESTED_PIN, message=message, node_id=node.id, pin=name[:200])
        except PinError:
            hint = did_you_mean(name, list(pins.input_names()))
            message = f"{checked.title(node.id)} has no input {name[:80]!r}; its value is ignored. {hint}"
            yield Problem(code=Code.UNKNOWN_INPUT, message=message, node_id=node.id, pin=name[:200])
    yield from check_old_names(checked, node)


def check_old_names(checked: Checked, node: Node) -> Iterator[Problem]:
    pins = checked.pins[node.id]
    used = [*node.input_default, *(link.sink_name for link in checked.graph.links_into(node.id))]
    for name in dict.fromkeys(used):
        if pins.current_name(name) != name:
            message = f"{checked.title(node.id)}: {name!r} is now called {pins.current_name(name)!r}."
            yield Problem(code=Code.OLD_NAME, message=message, node_id=node.id, pin=name)


def check_types(checked: Checked, node: Node, block: Block) -> Iterator[Problem]:
    """Check for values that cannot be converted to their pin's type; pins partly filled by links are skipped."""
    linked = {link.sink.pin for link in checked.graph.links_into(node.id) if link.sink.steps}
    for problem in check_given(block, sound_values(checked, node, block)):
        if problem.pin not in linked:
            yield Problem(
                code=Code.WRONG_TYPE, message=problem.message, node_id=node.id, pin=problem.pin[:200]
            )


def sound_values(checked: Checked, node: Node, block: Block) -> Mapping[str, JSON]:
    """Return the values whose names lead to a pin; the others are reported elsewhere."""
    pins = checked.pins[node.id]
    sound = {}
    for name, value in keep_known(block, node.input_default).items():
        try:
            found = None if name in block.ignored_inputs else pins.find_input(name)
        except PinError:
            continue
        if found is not None and not is_stray(name, value, pins):
            sound[name] = value
    return sound


def check_secrets(checked: Checked, node: Node) -> Iterator[Problem]:
    pins = checked.pins[node.id]
    for name, value in node.input_default.items():
        if is_stray(name, value, pins):
            message = (
                f"{checked.title(node.id)}: {name[:80]!r} does not belong in a graph. Remove it; the provider's "
                "stored credential is used."
            )
            yield Problem(code=Code.STRAY_CREDENTIALS, message=message, node_id=node.id, pin=name[:200])
    for name in suspicious_pins(node):
        message = (
            f"{checked.title(node.id)}: {name[:80]!r} looks like a key. Store it as a credential instead."
        )
        yield Problem(code=Code.SECRET_SUSPECTED, message=message, node_id=node.id, pin=name[:200])


def is_stray(name: str, value: JSON, pins: NodePins) -> bool:
    """Return whether it is a secret without a pin, or credentials that refer to nothing stored."""
    pin = pins.block.inputs_by_name.get(name)
    if pin is None:
        return name not in pins.dynamic_inputs and is_stray_secret(name, value)
    return pin.type == "credentials" and value is not None and not is_reference(value)
