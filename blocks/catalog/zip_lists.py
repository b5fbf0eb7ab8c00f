"""Zip Lists: group entries by position."""

from itertools import zip_longest

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Integer, Lists, LooseLists, pin
from blocks.support.sequences import check_lists, check_size


class Inputs(BlockInputs):
    lists: LooseLists = pin(description="The lists.")
    pad_to_longest: Boolean = pin(
        False, description="Pad short lists instead of cutting long ones.", advanced=True
    )
    fill_value: JSON = pin(None, description="Value for padding.", advanced=True)


class Outputs(BlockOutputs):
    zipped_list: Lists
    length: Integer


EXAMPLES = [
    Example(
        inputs={"lists": [[1, 2], ["a", "b", "c"]]},
        outputs=[("zipped_list", [[1, "a"], [2, "b"]]), ("length", 2)],
    ),
    Example(
        inputs={"lists": [[1], ["a", "b"]], "pad_to_longest": True, "fill_value": 0},
        outputs=[("zipped_list", [[1, "a"], [0, "b"]]), ("length", 2)],
    ),
    Example(inputs={"lists": [[1], {"a": 1}]}, error="Entry 1 of `lists` is not a list"),
    Example(
        inputs={"lists": [[]] * 2000 + [[0] * 1000], "pad_to_longest": True},
        error="the limit is 1000000",
        documented=False,
    ),
]


@block(
    id="0d0e684f-5cb9-4c4b-b8d1-47a0860e0c07",
    name="Zip Lists",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def zip_lists(inputs: Inputs, context: BlockContext) -> Emissions:
    """Group the entries of several lists by position, cut to the shortest or padded to the longest list."""
    lists = check_lists(inputs.lists)
    lengths = [len(members) for members in lists]
    check_size(len(lists) * (max if inputs.pad_to_longest else min)(lengths, default=0))
    groups = (
        zip_longest(*lists, fillvalue=inputs.fill_value)
        if inputs.pad_to_longest
        else zip(*lists, strict=False)
    )
    zipped = [list(group) for group in groups]
    yield "zipped_list", zipped
    yield "length", len(zipped)
