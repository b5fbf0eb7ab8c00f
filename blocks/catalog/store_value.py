"""Store Value: keep a value for repeated use."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, pin


class Inputs(BlockInputs):
    input: JSON = pin(description="The value; it also triggers the block.")
    data: JSON = pin(None, description="A fixed value that takes precedence over the input.", advanced=True)


class Outputs(BlockOutputs):
    output: JSON


EXAMPLES = [
    Example(inputs={"input": "hello"}, outputs=[("output", "hello")]),
    Example(
        inputs={"input": "go", "data": {"a": 1}}, outputs=[("output", {"a": 1})], note="data takes precedence"
    ),
    Example(
        inputs={"input": "go", "data": 0}, outputs=[("output", "go")], note="0, '' and [] count as unset"
    ),
    Example(inputs={"data": 5}, error="needs the input 'input'"),
]


@block(
    id="1ff065e9-88e8-4358-9d82-8dc91f622ba9",
    name="Store Value",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
    static_output=True,
)
def store_value(inputs: Inputs, context: BlockContext) -> Emissions:
    """Keep a value that later blocks can use any number of times in the run."""
    yield "output", inputs.data or inputs.input
