"""Word Character Count: count words and characters."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Integer, Text, pin


class Inputs(BlockInputs):
    text: Text = pin(description="The text.")


class Outputs(BlockOutputs):
    word_count: Integer
    character_count: Integer


EXAMPLES = [
    Example(inputs={"text": "Hello,  world!"}, outputs=[("word_count", 2), ("character_count", 14)]),
    Example(inputs={"text": ""}, outputs=[("word_count", 0), ("character_count", 0)]),
    Example(inputs={"text": None}, error="needs the input 'text'"),
]


@block(
    id="ab2a782d-22cf-4587-8a70-55b59b3f9f90",
    name="Word Character Count",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
)
def word_character_count(inputs: Inputs, context: BlockContext) -> Emissions:
    """Count the words and characters of a text."""
    yield "word_count", len(inputs.text.split())
    yield "character_count", len(inputs.text)
