"""Store Value: a value to be used as often as needed."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, pin


class Inputs(BlockInputs):
    input: JSON = pin(description="The value, and what triggers the block.")
    data: JSON = pin(None, description="A fixed value that wins over the input.", advanced=True)


class Outputs(BlockOutputs):
    output: JSON


EXAMPLES = [
    Example(inputs={"input": "hello"}, outputs=[("output", "hello")]),
    Example(inputs={"input": "go", "data": {"a": 1}}, outputs=[("output", {"a": 1})], note="data wins"),
    Example(
        inputs={"input": "go", "data": 0}, outputs=[("output", "go")], note="0, '' and [] count as unset"
    ),
    Example(inputs={"data": 5}, error="needs the input 'input'"),
]


@block(
    id="1ff065e9-88e8-4358-9d82-8dc91f622ba9",
    name="Store Value",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    static_output=True,
)
def store_value(inputs: Inputs, context: BlockContext) -> Emissions:
    """Holds a value that later blocks may use any number of times in the run."""
    yield "output", inputs.data or inputs.input
