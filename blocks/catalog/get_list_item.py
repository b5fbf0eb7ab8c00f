"""Get List Item: get the entry at an index."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Integer, pin
from blocks.support.sequences import check_index


class Inputs(BlockInputs):
    list: AnyList = pin(description="The list.")
    index: Integer = pin(description="Index from 0; negative counts from the end.")


class Outputs(BlockOutputs):
    item: JSON


EXAMPLES = [
    Example(inputs={"list": ["a", "b", "c"], "index": 1}, outputs=[("item", "b")]),
    Example(inputs={"list": ["a", "b", "c"], "index": -1}, outputs=[("item", "c")]),
    Example(inputs={"list": ["a"], "index": 1}, error="out of range for a list of length 1"),
]


@block(
    id="262ca24c-1025-43cf-a578-534e23234e97",
    name="Get List Item",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def get_list_item(inputs: Inputs, context: BlockContext) -> Emissions:
    """Return the entry of a list at an index."""
    yield "item", inputs.list[check_index(inputs.index, len(inputs.list))]
