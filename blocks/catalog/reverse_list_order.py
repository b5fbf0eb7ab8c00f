"""Reverse List Order: reverse a list."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import AnyList, BlockInputs, BlockOutputs, pin


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
        note="a single value becomes a list",
    ),
    Example(inputs={}, error="needs the input 'input_list'"),
]


@block(
    id="422cb708-3109-4277-bfe3-bc2ae5812777",
    name="Reverse List Order",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def reverse_list_order(inputs: Inputs, context: BlockContext) -> Emissions:
    """Reverse the order of a list."""
    yield "reversed_list", inputs.input_list[::-1]
