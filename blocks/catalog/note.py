"""Note: a comment in the agent."""

from blocks.base import BlockType, Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    text: Text = pin(description="Text of the note.")


class Outputs(BlockOutputs):
    output: Text


EXAMPLES = [
    Example(inputs={"text": "Remember the milk"}, outputs=[("output", "Remember the milk")]),
    Example(inputs={}, error="needs the input 'text'"),
]


@block(
    id="cc10ff7b-7753-4ff2-9af6-9399b1a7eddc",
    name="Note",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.NOTE,
)
def note(inputs: Inputs, context: BlockContext) -> Emissions:
    """Leave a note for readers of the agent. When run, it returns its text."""
    yield "output", inputs.text
