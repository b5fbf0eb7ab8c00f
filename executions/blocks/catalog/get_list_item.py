"""Get List Item: the entry at an index."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.lists import check_index
from executions.blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Integer, pin


class Inputs(BlockInputs):
    list: AnyList = pin(description="The list.")
    index: Integer = pin(description="From 0; negative counts from the end.")


class Outputs(BlockOutputs):
    item: JSON


EXAMPLES = [
    Example(inputs={"list": ["a", "b", "c"], "index": 1}, outputs=[("item", "b")]),
    Example(inputs={"list": ["a", "b", "c"], "index": -1}, outputs=[("item", "c")]),
    Example(inputs={"list": ["a"], "index": 1}, error="outside the list, which has 1 entries"),
]


@block(
    id="262ca24c-1025-43cf-a578-534e23234e97",
    name="Get List Item",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def get_list_item(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits the entry of a list at an index."""
    yield "item", inputs.list[check_index(inputs.index, len(inputs.list))]
