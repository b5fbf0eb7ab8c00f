"""Note: an annotation on the canvas."""

from __future__ import annotations

from executions.blocks.base import BlockType, Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.schema import BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    text: Text = pin(description="What the note says.")


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
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.NOTE,
)
def note(inputs: Inputs, context: BlockContext) -> Emissions:
    """A note for people who read the agent; run, it repeats its text."""
    yield "output", inputs.text
