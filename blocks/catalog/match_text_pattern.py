"""Match Text Pattern: branch on a regular expression."""

from blocks.base import Category, Emissions, block
from blocks.coercion import as_text
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Text, pin
from blocks.support.patterns import compile_pattern, find_first


class Inputs(BlockInputs):
    text: JSON = pin(description="Text to search; other values are searched as JSON.")
    match: Text = pin(description="A regular expression.")
    data: JSON = pin(description="The value to emit; the text if empty.")
    case_sensitive: Boolean = pin(True, description="Distinguish upper and lower case.", advanced=True)
    dot_all: Boolean = pin(True, description="Let the dot match line breaks.", advanced=True)


class Outputs(BlockOutputs):
    positive: JSON
    negative: JSON


EXAMPLES = [
    Example(inputs={"text": "order 66", "match": "[0-9]+", "data": "found"}, outputs=[("positive", "found")]),
    Example(inputs={"text": "no number", "match": "[0-9]+", "data": ""}, outputs=[("negative", "no number")]),
    Example(
        inputs={"text": {"city": "Rome"}, "match": "ROME", "data": 1, "case_sensitive": False},
        outputs=[("positive", 1)],
        note="an object is searched as JSON",
    ),
    Example(inputs={"text": "a\nb", "match": "a.b", "data": 1, "dot_all": False}, outputs=[("negative", 1)]),
    Example(inputs={"text": "x", "match": "(", "data": 1}, error="not a regular expression"),
    Example(inputs={"text": "x", "match": "((a{1000}){1000}){1000}", "data": 1}, error="repeats too much"),
    Example(
        inputs={"text": "a" * 60 + "b", "match": "(?:a|aa)+$", "data": 1},
        error="took longer",
        note="a pattern that takes too long is stopped",
    ),
]


@block(
    id="3060088f-6ed9-4928-9ba7-9c92823a7ccd",
    name="Match Text Pattern",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
)
def match_text_pattern(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emit a value on one of two pins, depending on whether a regular expression matches the text."""
    pattern = compile_pattern(inputs.match, case_sensitive=inputs.case_sensitive, dot_all=inputs.dot_all)
    matches = find_first(pattern, as_text(inputs.text)) is not None
    yield "positive" if matches else "negative", inputs.data or inputs.text
