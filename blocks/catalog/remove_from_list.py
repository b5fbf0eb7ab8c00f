"""Remove From List: remove an entry from a copy of a list."""

from blocks.base import Category, Emissions, block
from blocks.coercion import describe
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Boolean, Integer, pin
from blocks.support.equality import find_index
from blocks.support.sequences import check_index


class Inputs(BlockInputs):
    list: AnyList = pin(description="The list.")
    value: JSON = pin(None, description="The value to remove.", advanced=True)
    index: Integer | None = pin(
        None, description="Index to remove; takes precedence over the value.", advanced=True
    )
    return_item: Boolean = pin(False, description="Also return the removed entry.", advanced=True)


class Outputs(BlockOutputs):
    updated_list: AnyList
    removed_item: JSON


EXAMPLES = [
    Example(inputs={"list": ["a", "b", "a"], "value": "a"}, outputs=[("updated_list", ["b", "a"])]),
    Example(
        inputs={"list": ["a", "b"], "index": -1, "return_item": True},
        outputs=[("updated_list", ["a"]), ("removed_item", "b")],
    ),
    Example(inputs={"list": ["a"]}, error="Set `index` or `value`"),
    Example(inputs={"list": ["a"], "value": "z"}, error="does not contain"),
    Example(inputs={"list": ["a"], "index": 3}, error="out of range"),
]


@block(
    id="d93c5a93-ac7e-41c1-ae5c-ef67e6e9b826",
    name="Remove From List",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def remove_from_list(inputs: Inputs, context: BlockContext) -> Emissions:
    """Remove the entry at an index, or the first that equals a value, from a copy of a list."""
    index = index_to_remove(inputs)
    yield "updated_list", inputs.list[:index] + inputs.list[index + 1 :]
    if inputs.return_item:
        yield "removed_item", inputs.list[index]


def index_to_remove(inputs: Inputs) -> int:
    if inputs.index is not None:
        return check_index(inputs.index, len(inputs.list))
    if inputs.value is None:
        raise BlockFailed("Set `index` or `value` to specify what to remove.")
    index = find_index(inputs.list, inputs.value)
    if index is None:
        raise BlockFailed(f"The list does not contain {describe(inputs.value)}.")
    return index
