"""Replace List Item: a copy with another entry at an index."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.lists import check_index
from executions.blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Integer, pin


class Inputs(BlockInputs):
    list: AnyList = pin(description="The list.")
    index: Integer = pin(description="From 0; negative counts from the end.")
    value: JSON = pin(description="The new entry.")


class Outputs(BlockOutputs):
    updated_list: AnyList
    old_item: JSON


EXAMPLES = [
    Example(
        inputs={"list": ["a", "b"], "index": 0, "value": "z"},
        outputs=[("updated_list", ["z", "b"]), ("old_item", "a")],
    ),
    Example(inputs={"list": [], "index": 0, "value": "z"}, error="outside the list, which has 0 entries"),
]


@block(
    id="fbf62922-bea1-4a3d-8bac-23587f810b38",
    name="Replace List Item",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def replace_list_item(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits a copy of a list with the entry at an index replaced, and the old entry."""
    index = check_index(inputs.index, len(inputs.list))
    updated = inputs.list.copy()
    updated[index] = inputs.value
    yield "updated_list", updated
    yield "old_item", inputs.list[index]
