"""Count Items: count entries or characters."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Integer, pin


class Inputs(BlockInputs):
    collection: JSON = pin(description="A list, object or text.")


class Outputs(BlockOutputs):
    count: Integer


EXAMPLES = [
    Example(inputs={"collection": ["a", "b"]}, outputs=[("count", 2)]),
    Example(inputs={"collection": {"a": 1}}, outputs=[("count", 1)]),
    Example(inputs={"collection": "hello"}, outputs=[("count", 5)]),
    Example(inputs={"collection": 5}, outputs=[("count", -1)], note="a number cannot be counted"),
    Example(inputs={"collection": None}, error="needs the input 'collection'"),
]


@block(
    id="3c9c2f42-b0c3-435f-ba35-05f7a25c772a",
    name="Count Items",
    category=Category.LOGIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def count_items(inputs: Inputs, context: BlockContext) -> Emissions:
    """Count the entries of a list or object, or the characters of a text. Returns -1 for other values."""
    countable = isinstance(inputs.collection, list | dict | str)
    yield "count", len(inputs.collection) if countable else -1
