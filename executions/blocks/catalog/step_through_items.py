"""Step Through Items: each entry of a list or object, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from durable import limits
from executions.blocks.base import Category, Emissions, block
from executions.blocks.coercion import parse_json
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Object, Text, pin


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
        note="all sources in turn",
    ),
    Example(inputs={}, note="nothing to step through emits nothing"),
    Example(inputs={"items_str": "[1,"}, error="no JSON"),
    Example(inputs={"items_str": "5"}, error="neither a list nor an object"),
    Example(inputs={"items": [0] * 10_001}, error="more than 10000", documented=False),
    Example(inputs={"items_str": " " * (1024 * 1024 + 1)}, error="longer than", documented=False),
]


@block(
    id="f66a3543-28d3-4ab5-8945-9b336371e2ce",
    name="Step Through Items",
    category=Category.LOGIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    repeats=("item", "key"),
)
def step_through_items(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits each entry of a list or object with its index or key: what follows runs once for each."""
    sources = [
        source for source in (inputs.items, inputs.items_object, parse_items(inputs.items_str)) if source
    ]
    count = sum(len(source) for source in sources)
    if count > limits.MAX_STEP_THROUGH_ITEMS:
        raise BlockFailed(
            f"There are {count} entries, more than {limits.MAX_STEP_THROUGH_ITEMS}. Split the list."
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
        raise BlockFailed(f"The text of `items_str` is no JSON: {error}.") from None
    if isinstance(parsed, list | dict):
        return parsed
    raise BlockFailed("The JSON of `items_str` is neither a list nor an object.")


def entries(source: AnyList | Object) -> Iterator[tuple[int | str, JSON]]:
    return iter(source.items()) if isinstance(source, dict) else enumerate(source)
