"""Reverse List Order: a list back to front."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.schema import AnyList, BlockInputs, BlockOutputs, pin


class Inputs(BlockInputs):
    input_list: AnyList = pin(description="The list.")


class Outputs(BlockOutputs):
    reversed_list: AnyList


EXAMPLES = [
    Example(inputs={"input_list": [1, 2, 3]}, outputs=[("reversed_list", [3, 2, 1])]),
    Example(inputs={"input_list": "[1,2]"}, outputs=[("reversed_list", [2, 1])], note="JSON text"),
    Example(
        inputs={"input_list": "one"},
        outputs=[("reversed_list", ["one"])],
        note="a single value is a list of one",
    ),
    Example(inputs={}, error="needs the input 'input_list'"),
]


@block(
    id="422cb708-3109-4277-bfe3-bc2ae5812777",
    name="Reverse List Order",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def reverse_list_order(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits the list in reverse order."""
    yield "reversed_list", inputs.input_list[::-1]
