"""Extract Text Information: pieces of text found by a regular expression."""

from __future__ import annotations

from itertools import islice

from durable import limits
from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.families.patterns import compile_pattern, find_each
from executions.blocks.families.texts import as_text
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Integer, Text, Texts, pin


class Inputs(BlockInputs):
    text: JSON = pin(description="The text to search; other values are searched as JSON.")
    pattern: Text = pin(description="A regular expression.")
    group: Integer = pin(0, description="Which group to take; 0 is the whole match.", advanced=True)
    case_sensitive: Boolean = pin(True, description="Tell upper from lower case.", advanced=True)
    dot_all: Boolean = pin(True, description="Let a dot match line breaks.", advanced=True)
    find_all: Boolean = pin(False, description="All matches, not only the first.", advanced=True)


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
        note="a wrong pattern is no match",
    ),
    Example(
        inputs={"text": "x", "pattern": "x", "group": "first"}, error="takes integer, not the text 'first'"
    ),
]


@block(
    id="3146e4fe-2cdd-4f29-bd12-0c9d5bb4deb0",
    name="Extract Text Information",
    category=Category.TEXT,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    repeats=("positive",),
)
def extract_text_information(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits what a regular expression finds in a text, one piece or all, and how many there were."""
    text = as_text(inputs.text)
    found = find(inputs, text)
    for piece in found:
        yield "positive", piece
    if not found:
        yield "negative", text
    yield "matched_results", found
    yield "matched_count", len(found)


def find(inputs: Inputs, text: str) -> Texts:
    """The pieces; a pattern that is wrong, or too slow, finds none."""
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
