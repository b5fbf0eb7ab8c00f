"""Extract Text Information: extract text with a regular expression."""

from itertools import islice

from blocks import limits
from blocks.base import Category, Emissions, block
from blocks.coercion import as_text
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Integer, Text, Texts, pin
from blocks.support.patterns import compile_pattern, find_each


class Inputs(BlockInputs):
    text: JSON = pin(description="Text to search; other values are searched as JSON.")
    pattern: Text = pin(description="A regular expression.")
    group: Integer = pin(0, description="Group to extract; 0 is the whole match.", advanced=True)
    case_sensitive: Boolean = pin(True, description="Distinguish upper and lower case.", advanced=True)
    dot_all: Boolean = pin(True, description="Let the dot match line breaks.", advanced=True)
    find_all: Boolean = pin(False, description="Extract all matches instead of the first.", advanced=True)


class Outputs(BlockOutputs):
    positive: Text
    negative: Text
    matched_results: Texts
    matched_count: Integer


EXAMPLES = [
    Example(
        inputs={"text": "Mail ada@example.com", "pattern": "(\\w+)@(\\w+)", "group": 1},
        outputs=[("positive", "ada"), ("matched_results", ["ada"]), ("matched_count", 1)],
    ),
    Example(
        inputs={"text": "1 and 2", "pattern": "[0-9]", "find_all": True},
        outputs=[("positive", "1"), ("positive", "2"), ("matched_results", ["1", "2"]), ("matched_count", 2)],
    ),
    Example(
        inputs={"text": "none", "pattern": "[0-9]"},
        outputs=[("negative", "none"), ("matched_results", []), ("matched_count", 0)],
    ),
    Example(
        inputs={"text": "x", "pattern": "("},
        outputs=[("negative", "x"), ("matched_results", []), ("matched_count", 0)],
        note="an invalid pattern matches nothing",
    ),
    Example(
        inputs={"text": "x", "pattern": "x", "group": "first"}, error="expects integer, not the text 'first'"
    ),
]


@block(
    id="3146e4fe-2cdd-4f29-bd12-0c9d5bb4deb0",
    name="Extract Text Information",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
    repeats=("positive",),
)
def extract_text_information(inputs: Inputs, context: BlockContext) -> Emissions:
    """Extract the first or all matches of a regular expression from a text, and count them."""
    text = as_text(inputs.text)
    found = find(inputs, text)
    for piece in found:
        yield "positive", piece
    if not found:
        yield "negative", text
    yield "matched_results", found
    yield "matched_count", len(found)


def find(inputs: Inputs, text: str) -> Texts:
    """Return the matches; an invalid or slow pattern finds none."""
    try:
        pattern = compile_pattern(
            inputs.pattern, case_sensitive=inputs.case_sensitive, dot_all=inputs.dot_all
        )
        if not 0 <= inputs.group <= pattern.groups:
            return []
        matches = find_each(pattern, text)
        chosen = list(matches if inputs.find_all else islice(matches, 1))
    except BlockFailed:
        return []
    pieces = [match.group(inputs.group) or "" for match in chosen]
    return [piece[: limits.MAX_REGEX_MATCH_CHARACTERS] for piece in pieces]
