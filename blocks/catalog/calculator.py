"""Calculator: calculate with two numbers."""

import math
import operator
from collections.abc import Callable
from typing import Any, Literal

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Boolean, Number, pin

EXACT = 2**53  # JSON readers lose digits beyond this, so larger results are floats
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Subtract": operator.sub,
    "Multiply": operator.mul,
    "Divide": operator.truediv,
    "Power": math.pow,
}


class Inputs(BlockInputs):
    operation: Literal["Add", "Subtract", "Multiply", "Divide", "Power"] = pin(description="The operation.")
    a: Number = pin(description="The first number.")
    b: Number = pin(description="The second number.")
    round_result: Boolean = pin(False, description="Round to a whole number.", advanced=True)


class Outputs(BlockOutputs):
    result: Number


EXAMPLES = [
    Example(inputs={"operation": "Add", "a": 2, "b": 3}, outputs=[("result", 5)]),
    Example(
        inputs={"operation": "Multiply", "a": "2.5", "b": 2},
        outputs=[("result", 5.0)],
        note="text that contains a number",
    ),
    Example(inputs={"operation": "Divide", "a": 7, "b": 2}, outputs=[("result", 3.5)]),
    Example(inputs={"operation": "Divide", "a": 7, "b": 2, "round_result": True}, outputs=[("result", 4)]),
    Example(inputs={"operation": "Power", "a": 2, "b": 10}, outputs=[("result", 1024)]),
    Example(inputs={"operation": "Divide", "a": 1, "b": 0}, error="divide by zero"),
    Example(inputs={"operation": "Power", "a": 10, "b": 1000}, error="too large"),
    Example(inputs={"operation": "Power", "a": -1, "b": 0.5}, error="not a real number"),
    Example(inputs={"operation": "Add", "a": "two", "b": 3}, error="expects number, not the text 'two'"),
]


@block(
    id="b1ab9b19-67a6-406d-abf5-2dba76d00c79",
    name="Calculator",
    category=Category.LOGIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def calculator(inputs: Inputs, context: BlockContext) -> Emissions:
    """Add, subtract, multiply, divide or raise to a power. A result that is not finite is an error."""
    try:
        result = OPERATIONS[inputs.operation](inputs.a, inputs.b)
        if not math.isfinite(result):
            raise OverflowError
    except ZeroDivisionError:
        raise BlockFailed("Cannot divide by zero: `b` is 0.") from None
    except OverflowError:
        raise BlockFailed("The result is too large.") from None
    except ValueError:
        raise BlockFailed("The result is not a real number.") from None
    yield "result", round(result) if inputs.round_result else tidy(result, inputs)


def tidy(result: int | float, inputs: Inputs) -> int | float:
    """Return an integer if the operands are integers and the result is exact, else a float."""
    whole = isinstance(inputs.a, int) and isinstance(inputs.b, int) and inputs.operation != "Divide"
    return int(result) if whole and result == int(result) and abs(result) <= EXACT else float(result)
