"""Concatenate Lists: join lists."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import AnyList, BlockInputs, BlockOutputs, Boolean, Integer, LooseLists, pin
from blocks.support.equality import distinct
from blocks.support.sequences import check_lists, check_size


class Inputs(BlockInputs):
    lists: LooseLists = pin(description="The lists to join.")
    deduplicate: Boolean = pin(False, description="Remove duplicate entries.", advanced=True)
    remove_none: Boolean = pin(False, description="Remove nulls.", advanced=True)


class Outputs(BlockOutputs):
    concatenated_list: AnyList
    length: Integer


EXAMPLES = [
    Example(inputs={"lists": [[1, 2], [3]]}, outputs=[("concatenated_list", [1, 2, 3]), ("length", 3)]),
    Example(
        inputs={
            "lists": [[1, None], None, [1, {"a": 1}], [{"a": 1.0}]],
            "deduplicate": True,
            "remove_none": True,
        },
        outputs=[("concatenated_list", [1, {"a": 1}]), ("length", 2)],
        note="null lists are skipped and duplicates removed",
    ),
    Example(inputs={"lists": []}, outputs=[("concatenated_list", []), ("length", 0)]),
    Example(inputs={"lists": [[1], "two"]}, error="Entry 1 of `lists` is not a list"),
]


@block(
    id="3cf9298b-5817-4141-9d80-7c2cc5199c8e",
    name="Concatenate Lists",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def concatenate_lists(inputs: Inputs, context: BlockContext) -> Emissions:
    """Join lists in order, optionally without nulls or duplicates."""
    lists = check_lists(inputs.lists)
    check_size(sum(len(members) for members in lists))
    joined = [entry for members in lists for entry in members if not (inputs.remove_none and entry is None)]
    if inputs.deduplicate:
        joined = distinct(joined)
    yield "concatenated_list", joined
    yield "length", len(joined)
