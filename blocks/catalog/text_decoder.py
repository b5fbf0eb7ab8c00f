"""Text Decoder: decode backslash escapes."""

import re

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Text, pin

ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]{1,100}\}|[0-7]{1,3}|(?s:.)|\Z)", re.ASCII
)
INCOMPLETE = frozenset({"\\", "\\x", "\\u", "\\U", "\\N"})


class Inputs(BlockInputs):
    text: Text = pin(description="The text with escapes.")


class Outputs(BlockOutputs):
    decoded_text: Text


EXAMPLES = [
    Example(inputs={"text": "a\\nb\\t\\x41\\u00e9"}, outputs=[("decoded_text", "a\nb\tAé")]),
    Example(
        inputs={"text": "déjà\\tvu"},
        outputs=[("decoded_text", "déjà\tvu")],
        note="other characters are unchanged",
    ),
    Example(
        inputs={"text": "\\ud83d\\ude00"},
        outputs=[("decoded_text", "😀")],
        note="surrogate pairs, as in JSON",
    ),
    Example(
        inputs={"text": "C:\\q"}, outputs=[("decoded_text", "C:\\q")], note="an unknown escape is unchanged"
    ),
    Example(inputs={"text": "\\x4"}, error="The escape '\\\\x' is incomplete"),
    Example(inputs={"text": "end\\"}, error="incomplete"),
    Example(inputs={"text": "\\ud83d"}, error="half of a surrogate pair"),
]


@block(
    id="2570e8fe-8447-43ed-84c7-70d657923231",
    name="Text Decoder",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
)
def text_decoder(inputs: Inputs, context: BlockContext) -> Emissions:
    """Replace backslash escapes by the characters they represent."""
    decoded = ESCAPE.sub(decode_escape, inputs.text)
    try:
        yield "decoded_text", decoded.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise BlockFailed("The text contains half of a surrogate pair.") from None


def decode_escape(found: re.Match[str]) -> str:
    """Return the character of one escape; raise BlockFailed if it is invalid."""
    escape = found[0]
    if escape in INCOMPLETE:
        raise BlockFailed(f"The escape {escape!r} is incomplete.")
    if escape == "\\\n":
        return ""
    if len(escape) == 2 and escape[1] not in "abfnrtv\\'\"01234567":
        return escape
    try:
        return escape.encode("ascii").decode("unicode_escape")
    except (UnicodeDecodeError, UnicodeEncodeError):
        raise BlockFailed(f"The escape {escape!r} does not represent a character.") from None
