"""Replace List Item: replace an entry in a copy of a list."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Integer, pin
from blocks.support.sequences import check_index


class Inputs(BlockInputs):
    list: AnyList = pin(description="The list.")
    index: Integer = pin(description="Index from 0; negative counts from the end.")
    value: JSON = pin(description="The new entry.")


class Outputs(BlockOutputs):
    updated_list: AnyList
    old_item: JSON


EXAMPLES = [
    Example(
        inputs={"list": ["a", "b"], "index": 0, "value": "z"},
        outputs=[("updated_list", ["z", "b"]), ("old_item", "a")],
    ),
    Example(inputs={"list": [], "index": 0, "value": "z"}, error="out of range for a list of length 0"),
]


@block(
    id="fbf62922-bea1-4a3d-8bac-23587f810b38",
    name="Replace List Item",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def replace_list_item(inputs: Inputs, context: BlockContext) -> Emissions:
    """Replace the entry at an index in a copy of a list, and return the old entry."""
    index = check_index(inputs.index, len(inputs.list))
    updated = inputs.list.copy()
    updated[index] = inputs.value
    yield "updated_list", updated
    yield "old_item", inputs.list[index]
