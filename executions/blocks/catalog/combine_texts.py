"""Combine Texts: several texts as one."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.texts import check_length
from executions.blocks.schema import BlockInputs, BlockOutputs, Text, Texts, pin


class Inputs(BlockInputs):
    input: Texts = pin(description="The texts; link each to input_$_<position>.")
    delimiter: Text = pin("", description="What stands between them.", advanced=True)


class Outputs(BlockOutputs):
    output: Text


EXAMPLES = [
    Example(inputs={"input": ["a", "b"], "delimiter": ", "}, outputs=[("output", "a, b")]),
    Example(inputs={"input": ["n = ", 5]}, outputs=[("output", "n = 5")], note="other values become text"),
    Example(
        inputs={"input_$_1": "world", "input_$_0": "hello", "delimiter": " "},
        outputs=[("output", "hello world")],
        note="links to single positions",
    ),
    Example(
        inputs={"input1": "old ", "input2": "export"},
        outputs=[("output", "old export")],
        note="the names old exports use",
    ),
    Example(inputs={"delimiter": " "}, error="needs the input 'input'"),
    Example(inputs={"input": ["a"] * 1001, "delimiter": "x" * 10_000}, error="at most", documented=False),
]


@block(
    id="e30a4d42-7b7d-4e6a-b36e-1f9b8e3b7d85",
    name="Combine Texts",
    category=Category.TEXT,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    aliases={"input1": "input_$_0", "input2": "input_$_1"},
)
def combine_texts(inputs: Inputs, context: BlockContext) -> Emissions:
    """Joins texts in order, with a delimiter between them."""
    check_length(sum(len(text) for text in inputs.input) + len(inputs.delimiter) * len(inputs.input))
    yield "output", inputs.delimiter.join(inputs.input)
