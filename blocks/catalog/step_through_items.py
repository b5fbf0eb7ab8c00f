"""Step Through Items: loop over a list or object."""

from collections.abc import Iterator

from blocks import limits
from blocks.base import Category, Emissions, block
from blocks.coercion import parse_json
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Object, Text, pin


class Inputs(BlockInputs):
    items: AnyList = pin([], description="A list.")
    items_object: Object = pin({}, description="An object.")
    items_str: Text = pin("", description="JSON text of a list or object.")


class Outputs(BlockOutputs):
    item: JSON
    key: JSON


EXAMPLES = [
    Example(inputs={"items": ["a", "b"]}, outputs=[("item", "a"), ("key", 0), ("item", "b"), ("key", 1)]),
    Example(inputs={"items_object": {"x": 1}}, outputs=[("item", 1), ("key", "x")]),
    Example(
        inputs={"items": [1], "items_str": '{"y": 2}'},
        outputs=[("item", 1), ("key", 0), ("item", 2), ("key", "y")],
        note="all inputs, one after the other",
    ),
    Example(inputs={}, note="without entries nothing is emitted"),
    Example(inputs={"items_str": "[1,"}, error="not valid JSON"),
    Example(inputs={"items_str": "5"}, error="neither a list nor an object"),
    Example(inputs={"items": [0] * 10_001}, error="more than the limit of 10000", documented=False),
    Example(inputs={"items_str": " " * (1024 * 1024 + 1)}, error="longer than", documented=False),
]


@block(
    id="f66a3543-28d3-4ab5-8945-9b336371e2ce",
    name="Step Through Items",
    category=Category.LOGIC,
    outputs=Outputs,
    examples=EXAMPLES,
    repeats=("item", "key"),
)
def step_through_items(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emit each entry of a list or object with its index or key, so that the following nodes run once for each."""
    sources = [
        source for source in (inputs.items, inputs.items_object, parse_items(inputs.items_str)) if source
    ]
    count = sum(len(source) for source in sources)
    if count > limits.MAX_STEP_THROUGH_ITEMS:
        raise BlockFailed(
            f"There are {count} entries, more than the limit of {limits.MAX_STEP_THROUGH_ITEMS}. Split the list."
        )
    for source in sources:
        for key, item in entries(source):
            yield "item", item
            yield "key", key


def parse_items(text: str) -> AnyList | Object:
    if len(text) > limits.MAX_STEP_THROUGH_CHARACTERS:
        raise BlockFailed(
            f"The text of `items_str` is longer than {limits.MAX_STEP_THROUGH_CHARACTERS} characters."
        )
    if not text.strip():
        return []
    try:
        parsed = parse_json(text)
    except ValueError as error:
        raise BlockFailed(f"The text of `items_str` is not valid JSON: {error}.") from None
    if isinstance(parsed, list | dict):
        return parsed
    raise BlockFailed("The JSON of `items_str` is neither a list nor an object.")


def entries(source: AnyList | Object) -> Iterator[tuple[int | str, JSON]]:
    return iter(source.items()) if isinstance(source, dict) else enumerate(source)
