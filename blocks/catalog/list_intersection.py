"""List Intersection: find common entries of two lists."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import AnyList, BlockInputs, BlockOutputs, Integer, pin
from blocks.support.equality import distinct, equality_key


class Inputs(BlockInputs):
    list_a: AnyList = pin(description="The first list, which determines the order.")
    list_b: AnyList = pin(description="The second list.")


class Outputs(BlockOutputs):
    intersection: AnyList
    length: Integer


EXAMPLES = [
    Example(
        inputs={"list_a": [3, 1, 3, 2], "list_b": [2, 3]},
        outputs=[("intersection", [3, 2]), ("length", 2)],
        note="each entry once",
    ),
    Example(
        inputs={"list_a": [{"a": 1}], "list_b": [{"a": 2}]}, outputs=[("intersection", []), ("length", 0)]
    ),
    Example(inputs={"list_b": [1]}, error="needs the input 'list_a'"),
]


@block(
    id="b6eb08b6-dbe3-411b-b9b4-2508cb311a1f",
    name="List Intersection",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def list_intersection(inputs: Inputs, context: BlockContext) -> Emissions:
    """Return the distinct entries that are in both lists, in the order of the first."""
    keys = {equality_key(entry) for entry in inputs.list_b}
    common = [entry for entry in distinct(inputs.list_a) if equality_key(entry) in keys]
    yield "intersection", common
    yield "length", len(common)
