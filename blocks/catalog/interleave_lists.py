"""Interleave Lists: merge lists by alternating entries."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import AnyList, BlockInputs, BlockOutputs, Integer, LooseLists, pin
from blocks.support.sequences import check_lists, check_size


class Inputs(BlockInputs):
    lists: LooseLists = pin(description="The lists.")


class Outputs(BlockOutputs):
    interleaved_list: AnyList
    length: Integer


EXAMPLES = [
    Example(
        inputs={"lists": [[1, 2, 3], ["a"]]}, outputs=[("interleaved_list", [1, "a", 2, 3]), ("length", 4)]
    ),
    Example(inputs={"lists": []}, outputs=[("interleaved_list", []), ("length", 0)]),
    Example(inputs={"lists": [5]}, error="Entry 0 of `lists` is not a list"),
]


@block(
    id="9f616084-1d9f-4f8e-bc00-5b9d2a75cd75",
    name="Interleave Lists",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def interleave_lists(inputs: Inputs, context: BlockContext) -> Emissions:
    """Merge lists by taking one entry from each in turn. The rest of longer lists follows."""
    lists = check_lists(inputs.lists)
    check_size(sum(len(members) for members in lists))
    merged: AnyList = []
    position = 0
    while lists := [members for members in lists if len(members) > position]:
        merged += [members[position] for members in lists]
        position += 1
    yield "interleaved_list", merged
    yield "length", len(merged)
