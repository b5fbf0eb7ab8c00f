"""Combine Texts: join texts."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Text, Texts, pin
from blocks.support.sequences import check_length


class Inputs(BlockInputs):
    input: Texts = pin(description="The texts to join; link each to input_$_<position>.")
    delimiter: Text = pin("", description="Text between them.", advanced=True)


class Outputs(BlockOutputs):
    output: Text


EXAMPLES = [
    Example(inputs={"input": ["a", "b"], "delimiter": ", "}, outputs=[("output", "a, b")]),
    Example(inputs={"input": ["n = ", 5]}, outputs=[("output", "n = 5")], note="other values become text"),
    Example(
        inputs={"input_$_1": "world", "input_$_0": "hello", "delimiter": " "},
        outputs=[("output", "hello world")],
        note="links to individual positions",
    ),
    Example(
        inputs={"input1": "old ", "input2": "export"},
        outputs=[("output", "old export")],
        note="names in old exports",
    ),
    Example(inputs={"delimiter": " "}, error="needs the input 'input'"),
    Example(
        inputs={"input": ["a"] * 1001, "delimiter": "x" * 10_000}, error="the limit is", documented=False
    ),
]


@block(
    id="e30a4d42-7b7d-4e6a-b36e-1f9b8e3b7d85",
    name="Combine Texts",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
    aliases={"input1": "input_$_0", "input2": "input_$_1"},
)
def combine_texts(inputs: Inputs, context: BlockContext) -> Emissions:
    """Join texts in order, with a delimiter between them."""
    check_length(sum(len(text) for text in inputs.input) + len(inputs.delimiter) * len(inputs.input))
    yield "output", inputs.delimiter.join(inputs.input)
