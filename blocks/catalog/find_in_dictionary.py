"""Find In Dictionary: look up a key or an index."""

from blocks.base import Category, Emissions, block
from blocks.coercion import parse_json
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.pins import MISSING
from blocks.schema import JSON, BlockInputs, BlockOutputs, Integer, Text, pin


class Inputs(BlockInputs):
    input: JSON = pin(description="An object, a list, or JSON text of either.")
    key: Text | Integer = pin(description="The key, or an index for a list.")


class Outputs(BlockOutputs):
    output: JSON
    missing: JSON


EXAMPLES = [
    Example(inputs={"input": {"a": 1}, "key": "a"}, outputs=[("output", 1)]),
    Example(inputs={"input": '{"a": 1}', "key": "a"}, outputs=[("output", 1)], note="JSON text"),
    Example(inputs={"input": ["x", "y"], "key": 1}, outputs=[("output", "y")]),
    Example(
        inputs={"input": [{"a": 1}, {"b": 2}, {"a": 3}], "key": "a"},
        outputs=[("output", [1, 3])],
        note="a key in every object of a list",
    ),
    Example(inputs={"input": [], "key": "a"}, outputs=[("output", [])]),
    Example(
        inputs={"input": {"1": "one"}, "key": 1}, outputs=[("output", "one")], note="keys of objects are text"
    ),
    Example(inputs={"input": {"a": 1}, "key": "b"}, outputs=[("missing", {"a": 1})]),
    Example(inputs={"input": ["x"], "key": 5}, outputs=[("missing", ["x"])]),
    Example(inputs={"input": "{broken", "key": "a"}, error="not valid JSON"),
]


@block(
    id="0e50422c-6dee-4145-83d6-3a5a392f65de",
    name="Find In Dictionary",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def find_in_dictionary(inputs: Inputs, context: BlockContext) -> Emissions:
    """Look up a key in a dictionary, an index in a list, or a key in every object of a list."""
    found = look_up(parse(inputs.input), inputs.key)
    if found is MISSING:
        yield "missing", inputs.input
    else:
        yield "output", found


def parse(value: JSON) -> JSON:
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError as error:
        raise BlockFailed(f"The text of `input` is not valid JSON: {error}.") from None


def look_up(value: JSON, key: str | int) -> JSON:
    if isinstance(value, dict):
        return value.get(str(key), MISSING)
    if not isinstance(value, list):
        return MISSING
    if isinstance(key, int):
        return value[key] if -len(value) <= key < len(value) else MISSING
    hits = [item[key] for item in value if isinstance(item, dict) and key in item]
    return hits if hits or not value else MISSING
