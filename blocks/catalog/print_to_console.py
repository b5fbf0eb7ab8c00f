"""Print To Console: show a value for debugging."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    text: JSON = pin(description="The value to show.")


class Outputs(BlockOutputs):
    output: JSON
    status: Text


EXAMPLES = [
    Example(inputs={"text": {"a": 1}}, outputs=[("output", {"a": 1}), ("status", "printed")]),
    Example(inputs={"text": None}, error="needs the input 'text'"),
]


@block(
    id="f3b1c1b2-4c4f-4f0d-8d2f-4c4f0d8d2f4c",
    name="Print To Console",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
    sensitive=True,
)
def print_to_console(inputs: Inputs, context: BlockContext) -> Emissions:
    """Show a value in the run for debugging. Kept for old agents."""
    yield "output", inputs.text
    yield "status", "printed"
