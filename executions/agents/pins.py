"""The pins of a node: those of its block and those its settings add, found by the name in a link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from blocks.base import Block, BlockType
from blocks.errors import InputError
from blocks.pins import PinStep, PinStepKind, parse_pin
from blocks.schema import JSON
from executions.graph import TOOLS_PIN, TOOLS_PREFIX, Node

ANY: Mapping[str, JSON] = {}


class PinError(Exception):
    """A name that refers to no pin."""


class UnknownPin(PinError):
    """The node has no such pin."""


class BadNestedPin(PinError):
    """The pin exists, but its value has no such part."""


@dataclass(frozen=True, kw_only=True)
class FoundPin:
    """The pin a name refers to, and the schema of the part of its value."""

    pin: str
    steps: tuple[PinStep, ...]
    schema: Mapping[str, JSON]
    scalar_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class NodePins:
    """The pins of one node."""

    block: Block
    input_default: Mapping[str, JSON]

    @cached_property
    def dynamic_inputs(self) -> Mapping[str, JSON]:
        """The pins from the node's own schema, by name."""
        need = self.block.dynamic_inputs
        return properties_of(self.input_default.get(need.schema_pin)) if need else {}

    @cached_property
    def dynamic_outputs(self) -> Mapping[str, JSON]:
        """The outputs of a sub-agent, by name."""
        if self.block.type is not BlockType.AGENT:
            return {}
        return properties_of(self.input_default.get("output_schema"))

    def find_input(self, name: str) -> FoundPin:
        """Return the input a name refers to, old names included; raises PinError."""
        name = self.current_name(name)
        for pins in (self.block.inputs_by_name, self.dynamic_inputs):
            if name in pins:
                return self._input(name, ())
        path = split(name)
        if path.pin not in self.block.inputs_by_name and path.pin not in self.dynamic_inputs:
            raise UnknownPin(name)
        return self._input(path.pin, path.steps)

    def find_output(self, name: str) -> FoundPin:
        """Return the output a name refers to; raises PinError."""
        if name in self.block.outputs_by_name or name in self.dynamic_outputs or self.is_tool_pin(name):
            return FoundPin(pin=name, steps=(), schema=self._output_schema(name))
        path = split(name)
        if path.pin not in self.block.outputs_by_name and path.pin not in self.dynamic_outputs:
            raise UnknownPin(name)
        return FoundPin(
            pin=path.pin, steps=path.steps, schema=descend(self._output_schema(path.pin), path.steps, name)
        )

    def current_name(self, name: str) -> str:
        """Return the current name of a pin: `input1` of Combine Texts is now `input_$_0`."""
        if name in self.block.inputs_by_name or name not in self.block.aliases:
            return name
        return self.block.aliases[name].replace(".", "_#_")

    def is_tool_pin(self, name: str) -> bool:
        """Return whether a link from that pin offers its sink as a tool; the rest of the name is ignored."""
        if self.block.type is not BlockType.AI:
            return False
        dynamic = self.block.dynamic_outputs
        return name == TOOLS_PIN or name.startswith(TOOLS_PREFIX) or bool(dynamic and dynamic(name, None))

    def input_names(self) -> Iterator[str]:
        yield from self.block.inputs_by_name
        yield from self.dynamic_inputs

    def output_names(self) -> Iterator[str]:
        yield from self.block.outputs_by_name
        yield from self.dynamic_outputs

    def _input(self, pin: str, steps: tuple[PinStep, ...]) -> FoundPin:
        known = self.block.inputs_by_name.get(pin)
        schema = known.schema if known else as_schema(self.dynamic_inputs[pin])
        place = descend(schema, steps, pin + "".join(f"_{step.kind}_{step.key}" for step in steps))
        scalar_key = known.scalar_key if known and not steps else None
        return FoundPin(pin=pin, steps=steps, schema=place, scalar_key=scalar_key)

    def _output_schema(self, pin: str) -> Mapping[str, JSON]:
        known = self.block.outputs_by_name.get(pin)
        return known.schema if known else as_schema(self.dynamic_outputs.get(pin))


def pins_of(node: Node, block: Block) -> NodePins:
    return NodePins(block=block, input_default=node.input_default)


@dataclass(frozen=True, kw_only=True)
class SplitName:
    pin: str
    steps: tuple[PinStep, ...]


def split(name: str) -> SplitName:
    """Split a nested name; raises BadNestedPin for an index that is not a number."""
    try:
        path = parse_pin(name)
    except InputError as error:
        raise BadNestedPin(str(error)) from None
    return SplitName(pin=path.pin, steps=path.steps)


def descend(schema: Mapping[str, JSON], steps: tuple[PinStep, ...], name: str) -> Mapping[str, JSON]:
    """Return the schema of a part of the value; raises BadNestedPin where there can be none."""
    for step in steps:
        schema = enter(schema, step, name)
    return schema


def enter(schema: Mapping[str, JSON], step: PinStep, name: str) -> Mapping[str, JSON]:
    container = "array" if step.kind is PinStepKind.INDEX else "object"
    options = [option for option in schema.get("anyOf", [schema]) if isinstance(option, Mapping)]
    for option in options:
        if "type" not in option and "enum" not in option:
            return ANY
        if option.get("type") == container:
            return member(option, step)
    what = "a list index (_$_)" if step.kind is PinStepKind.INDEX else f"a key (_{step.kind}_)"
    raise BadNestedPin(f"{name!r} uses {what}, but the pin's value is not {container}.")


def member(schema: Mapping[str, JSON], step: PinStep) -> Mapping[str, JSON]:
    if step.kind is PinStepKind.INDEX:
        return as_schema(schema.get("items"))
    named = properties_of(schema).get(step.key)
    return as_schema(named if named is not None else schema.get("additionalProperties"))


def as_schema(value: JSON) -> Mapping[str, JSON]:
    """Return a schema from outside, or one for any value if it is not a schema."""
    return value if isinstance(value, Mapping) else ANY


def properties_of(schema: JSON) -> Mapping[str, JSON]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}
