"""Text Replace: replace text."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Text, pin
from blocks.support.sequences import check_length


class Inputs(BlockInputs):
    text: Text = pin(description="The text.")
    old: Text = pin(description="Text to replace, taken literally.")
    new: Text = pin(description="Replacement text.")


class Outputs(BlockOutputs):
    output: Text


EXAMPLES = [
    Example(
        inputs={"text": "a cat, a cat", "old": "cat", "new": "dog"}, outputs=[("output", "a dog, a dog")]
    ),
    Example(
        inputs={"text": "a.b", "old": ".", "new": ""},
        outputs=[("output", "ab")],
        note="no regular expression",
    ),
    Example(inputs={"text": "ab", "old": "", "new": "-"}, outputs=[("output", "-a-b-")]),
    Example(inputs={"text": "ab", "old": "a"}, error="needs the input 'new'"),
    Example(
        inputs={"text": "a" * 5000, "old": "a", "new": "b" * 5000}, error="the limit is", documented=False
    ),
]


@block(
    id="7e7c87ab-3469-4bcc-9abe-67705091b713",
    name="Text Replace",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
)
def text_replace(inputs: Inputs, context: BlockContext) -> Emissions:
    """Replace every occurrence of a text."""
    check_length(len(inputs.text) + inputs.text.count(inputs.old) * max(len(inputs.new) - len(inputs.old), 0))
    yield "output", inputs.text.replace(inputs.old, inputs.new)
