"""List Difference: find entries that are in only one list."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import AnyList, BlockInputs, BlockOutputs, Boolean, Integer, pin
from blocks.support.equality import equality_key


class Inputs(BlockInputs):
    list_a: AnyList = pin(description="The list to filter.")
    list_b: AnyList = pin(description="Entries to remove.")
    symmetric: Boolean = pin(
        False, description="Include entries that are only in the second list.", advanced=True
    )


class Outputs(BlockOutputs):
    difference: AnyList
    length: Integer


EXAMPLES = [
    Example(
        inputs={"list_a": [3, 1, 3, 2], "list_b": [1]},
        outputs=[("difference", [3, 3, 2]), ("length", 3)],
        note="order and duplicates are kept",
    ),
    Example(
        inputs={"list_a": [1, 2], "list_b": [2, 4], "symmetric": True},
        outputs=[("difference", [1, 4]), ("length", 2)],
    ),
    Example(inputs={"list_a": [1]}, error="needs the input 'list_b'"),
]


@block(
    id="05309873-9d61-447e-96b5-b804e2511829",
    name="List Difference",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def list_difference(inputs: Inputs, context: BlockContext) -> Emissions:
    """Return the entries of one list that are not in the other, or the entries in only one of them."""
    difference = without(inputs.list_a, inputs.list_b)
    if inputs.symmetric:
        difference += without(inputs.list_b, inputs.list_a)
    yield "difference", difference
    yield "length", len(difference)


def without(entries: AnyList, other: AnyList) -> AnyList:
    keys = {equality_key(entry) for entry in other}
    return [entry for entry in entries if equality_key(entry) not in keys]
