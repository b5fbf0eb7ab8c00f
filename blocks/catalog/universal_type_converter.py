"""Universal Type Converter: convert a value to another type."""

import math
from typing import Literal, assert_never

from blocks.base import Category, Emissions, block
from blocks.coercion import as_text, parse_json
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Object, pin

Target = Literal["string", "number", "boolean", "list", "dictionary"]


class Inputs(BlockInputs):
    value: JSON = pin(description="The value to convert.")
    type: Target = pin(description="The type to convert it to.")


class Outputs(BlockOutputs):
    value: JSON


EXAMPLES = [
    Example(inputs={"value": {"a": 1}, "type": "string"}, outputs=[("value", '{"a":1}')], note="JSON text"),
    Example(inputs={"value": "3.5", "type": "number"}, outputs=[("value", 3.5)]),
    Example(
        inputs={"value": "many", "type": "number"},
        outputs=[("value", 0.0)],
        note="text without a number becomes 0",
    ),
    Example(
        inputs={"value": [1, 2], "type": "number"}, outputs=[("value", 2.0)], note="a list becomes its length"
    ),
    Example(inputs={"value": "True", "type": "boolean"}, outputs=[("value", True)]),
    Example(
        inputs={"value": "yes", "type": "boolean"},
        outputs=[("value", False)],
        note="only 'true' and '1' are true",
    ),
    Example(inputs={"value": "[1,2]", "type": "list"}, outputs=[("value", [1, 2])]),
    Example(inputs={"value": {"a": 1}, "type": "list"}, outputs=[("value", [["a", 1]])], note="pairs"),
    Example(inputs={"value": 5, "type": "list"}, outputs=[("value", [5])]),
    Example(inputs={"value": '{"a": 1}', "type": "dictionary"}, outputs=[("value", {"a": 1})]),
    Example(inputs={"value": ["x", "y"], "type": "dictionary"}, outputs=[("value", {"0": "x", "1": "y"})]),
    Example(inputs={"value": "x", "type": "dictionary"}, outputs=[("value", {"value": "x"})]),
    Example(inputs={"value": 10**400, "type": "number"}, error="too large", documented=False),
    Example(
        inputs={"value": "x", "type": "date"}, error="Use one of: string, number, boolean, list, dictionary."
    ),
]


@block(
    id="95d1b990-ce13-4d88-9737-ba5c2070c97b",
    name="Universal Type Converter",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def universal_type_converter(inputs: Inputs, context: BlockContext) -> Emissions:
    """Convert a value to text, a number, a boolean, a list or a dictionary."""
    yield "value", convert(inputs.value, inputs.type)


def convert(value: JSON, target: Target) -> JSON:
    match target:
        case "string":
            return as_text(value)
        case "number":
            return to_number(value)
        case "boolean":
            return value.strip().lower() in ("true", "1") if isinstance(value, str) else bool(value)
        case "list":
            return to_list(value)
        case "dictionary":
            return to_dictionary(value)
        case _:
            assert_never(target)


def to_number(value: JSON) -> float:
    if isinstance(value, list | dict):
        return float(len(value))
    try:
        number = float(value)
    except ValueError:
        return 0.0
    except OverflowError:
        raise BlockFailed("The number is too large to be converted.") from None
    return number if math.isfinite(number) else 0.0


def to_list(value: JSON) -> list[JSON]:
    if isinstance(value, str) and isinstance(parsed := parsed_or_none(value), list):
        return parsed
    if isinstance(value, dict):
        return [[key, item] for key, item in value.items()]
    return value if isinstance(value, list) else [value]


def to_dictionary(value: JSON) -> Object:
    if isinstance(value, str) and isinstance(parsed := parsed_or_none(value), dict):
        return parsed
    if isinstance(value, list):
        return {str(index): item for index, item in enumerate(value)}
    return value if isinstance(value, dict) else {"value": value}


def parsed_or_none(text: str) -> JSON:
    try:
        return parse_json(text)
    except ValueError:
        return None
