"""Concatenate Lists: several lists as one."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.equality import distinct
from executions.blocks.families.lists import check_lists, check_size
from executions.blocks.schema import AnyList, BlockInputs, BlockOutputs, Boolean, Integer, LooseLists, pin


class Inputs(BlockInputs):
    lists: LooseLists = pin(description="The lists, in order.")
    deduplicate: Boolean = pin(False, description="Keep only the first of equal entries.", advanced=True)
    remove_none: Boolean = pin(False, description="Leave nulls out.", advanced=True)


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
        note="null lists are skipped, equal entries come once",
    ),
    Example(inputs={"lists": []}, outputs=[("concatenated_list", []), ("length", 0)]),
    Example(inputs={"lists": [[1], "two"]}, error="Entry 1 of `lists` is no list"),
]


@block(
    id="3cf9298b-5817-4141-9d80-7c2cc5199c8e",
    name="Concatenate Lists",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def concatenate_lists(inputs: Inputs, context: BlockContext) -> Emissions:
    """Joins lists in order, without nulls or doubles on request."""
    lists = check_lists(inputs.lists)
    check_size(sum(len(members) for members in lists))
    joined = [entry for members in lists for entry in members if not (inputs.remove_none and entry is None)]
    if inputs.deduplicate:
        joined = distinct(joined)
    yield "concatenated_list", joined
    yield "length", len(joined)
