"""Text Split: split a text at a delimiter."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Boolean, Text, Texts, pin


class Inputs(BlockInputs):
    text: Text = pin(description="The text.")
    delimiter: Text = pin(description="Delimiter, taken literally.")
    strip: Boolean = pin(True, description="Trim white space around each part.", advanced=True)


class Outputs(BlockOutputs):
    texts: Texts


EXAMPLES = [
    Example(inputs={"text": "a, b,c", "delimiter": ","}, outputs=[("texts", ["a", "b", "c"])]),
    Example(inputs={"text": "a, b", "delimiter": ",", "strip": False}, outputs=[("texts", ["a", " b"])]),
    Example(inputs={"text": "", "delimiter": ","}, outputs=[("texts", [])]),
    Example(inputs={"text": "abc", "delimiter": ""}, error="empty delimiter"),
]


@block(
    id="d5ea33c8-a575-477a-b42f-2fe3be5055ec",
    name="Text Split",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
)
def text_split(inputs: Inputs, context: BlockContext) -> Emissions:
    """Split a text at a delimiter into a list of texts."""
    if not inputs.delimiter:
        raise BlockFailed("A text cannot be split at an empty delimiter. Enter at least one character.")
    parts = inputs.text.split(inputs.delimiter) if inputs.text else []
    yield "texts", [part.strip() for part in parts] if inputs.strip else parts
