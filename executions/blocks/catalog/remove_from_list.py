"""Remove From List: a copy without one entry."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.coercion import describe
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.families.equality import equality_key
from executions.blocks.families.lists import check_index
from executions.blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Boolean, Integer, pin


class Inputs(BlockInputs):
    list: AnyList = pin(description="The list.")
    value: JSON = pin(None, description="The value to remove.", advanced=True)
    index: Integer | None = pin(None, description="The index to remove; wins over the value.", advanced=True)
    return_item: Boolean = pin(False, description="Emit the removed entry too.", advanced=True)


class Outputs(BlockOutputs):
    updated_list: AnyList
    removed_item: JSON


EXAMPLES = [
    Example(inputs={"list": ["a", "b", "a"], "value": "a"}, outputs=[("updated_list", ["b", "a"])]),
    Example(
        inputs={"list": ["a", "b"], "index": -1, "return_item": True},
        outputs=[("updated_list", ["a"]), ("removed_item", "b")],
    ),
    Example(inputs={"list": ["a"]}, error="Give `index` or `value`"),
    Example(inputs={"list": ["a"], "value": "z"}, error="is not in the list"),
    Example(inputs={"list": ["a"], "index": 3}, error="outside the list"),
]


@block(
    id="d93c5a93-ac7e-41c1-ae5c-ef67e6e9b826",
    name="Remove From List",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def remove_from_list(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits a copy of a list without the entry at an index or the first that equals a value."""
    index = find_index(inputs)
    yield "updated_list", inputs.list[:index] + inputs.list[index + 1 :]
    if inputs.return_item:
        yield "removed_item", inputs.list[index]


def find_index(inputs: Inputs) -> int:
    if inputs.index is not None:
        return check_index(inputs.index, len(inputs.list))
    if inputs.value is None:
        raise BlockFailed("Give `index` or `value`, so that it is clear what to remove.")
    wanted = equality_key(inputs.value)
    for index, entry in enumerate(inputs.list):
        if equality_key(entry) == wanted:
            return index
    raise BlockFailed(f"{describe(inputs.value)} is not in the list.")
