"""Text Encoder: encode special characters as backslash escapes."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    text: Text = pin(description="The text.")


class Outputs(BlockOutputs):
    encoded_text: Text


EXAMPLES = [
    Example(
        inputs={"text": 'a\nb\t"é"'},
        outputs=[("encoded_text", 'a\\nb\\t"\\xe9"')],
        note="quotes are unchanged",
    ),
    Example(inputs={"text": "😀"}, outputs=[("encoded_text", "\\U0001f600")]),
    Example(inputs={}, error="needs the input 'text'"),
]


@block(
    id="5185f32e-4b65-4ecf-8fbb-873f003f09d6",
    name="Text Encoder",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
)
def text_encoder(inputs: Inputs, context: BlockContext) -> Emissions:
    """Replace control and non-ASCII characters by backslash escapes."""
    yield "encoded_text", inputs.text.encode("unicode_escape").decode("ascii")
