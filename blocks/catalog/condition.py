"""Condition: branch on a comparison of two values."""

import operator
import re
from collections.abc import Callable
from typing import Literal

from blocks.base import Category, Emissions, block
from blocks.coercion import describe
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, pin
from blocks.support.equality import same

NUMBER = re.compile(r"[+-]?([0-9]++\.?[0-9]*+|\.[0-9]++)([eE][+-]?[0-9]{1,3})?", re.ASCII)
ORDER: dict[str, Callable[[JSON, JSON], JSON]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}


class Inputs(BlockInputs):
    value1: JSON = pin(description="Left side of the comparison.")
    operator: Literal["==", "!=", ">", "<", ">=", "<="] = pin(description="Comparison operator.")
    value2: JSON = pin(description="Right side of the comparison.")
    yes_value: JSON = pin(
        None, description="Emitted if the comparison is true; default is the left side.", advanced=True
    )
    no_value: JSON = pin(None, description="Emitted if it is false; default is the left side.", advanced=True)


class Outputs(BlockOutputs):
    result: Boolean
    yes_output: JSON
    no_output: JSON


EXAMPLES = [
    Example(
        inputs={"value1": 10, "operator": ">", "value2": 5, "yes_value": "more", "no_value": "less"},
        outputs=[("result", True), ("yes_output", "more")],
    ),
    Example(
        inputs={"value1": " 10 ", "operator": "<", "value2": "5"},
        outputs=[("result", False), ("no_output", 10.0)],
        note="numeric text is compared as a number; the left side is emitted",
    ),
    Example(
        inputs={"value1": " cat", "operator": "==", "value2": "cat"},
        outputs=[("result", True), ("yes_output", "cat")],
        note="text is trimmed",
    ),
    Example(
        inputs={"value1": [1], "operator": "!=", "value2": [1]},
        outputs=[("result", False), ("no_output", [1])],
    ),
    Example(inputs={"value1": "cat", "operator": "<", "value2": 5}, error="Cannot compare"),
    Example(inputs={"value1": 1, "operator": "~", "value2": 5}, error="Use one of: ==, !=, >, <, >=, <=."),
]


@block(
    id="715696a0-e1da-45c8-b209-c2fa9c3b0be6",
    name="Condition",
    category=Category.LOGIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def condition(inputs: Inputs, context: BlockContext) -> Emissions:
    """Compare two values and emit one of two values, each on its own pin."""
    left, right = as_operand(inputs.value1), as_operand(inputs.value2)
    holds = compare(left, inputs.operator, right)
    yield "result", holds
    if holds:
        yield "yes_output", left if inputs.yes_value is None else inputs.yes_value
    else:
        yield "no_output", left if inputs.no_value is None else inputs.no_value


def as_operand(value: JSON) -> JSON:
    """Return trimmed text, or the number that it contains."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    number = float(text) if NUMBER.fullmatch(text) else None
    return text if number is None or number in (float("inf"), float("-inf")) else number


def compare(left: JSON, sign: str, right: JSON) -> bool:
    if sign in ("==", "!="):
        return same(left, right) == (sign == "==")
    try:
        return bool(ORDER[sign](left, right))
    except (TypeError, RecursionError, OverflowError):
        raise BlockFailed(f"Cannot compare {describe(left)} and {describe(right)} with {sign}.") from None
