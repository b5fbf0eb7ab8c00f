"""List Difference: what is in one list and not in the other."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.equality import equality_key
from executions.blocks.schema import AnyList, BlockInputs, BlockOutputs, Boolean, Integer, pin


class Inputs(BlockInputs):
    list_a: AnyList = pin(description="The list to take from.")
    list_b: AnyList = pin(description="The list to leave out.")
    symmetric: Boolean = pin(False, description="Also what only the second list has.", advanced=True)


class Outputs(BlockOutputs):
    difference: AnyList
    length: Integer


EXAMPLES = [
    Example(
        inputs={"list_a": [3, 1, 3, 2], "list_b": [1]},
        outputs=[("difference", [3, 3, 2]), ("length", 3)],
        note="order and repeats are kept",
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
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def list_difference(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits the entries of one list that the other lacks, or those that only one of them has."""
    difference = without(inputs.list_a, inputs.list_b)
    if inputs.symmetric:
        difference += without(inputs.list_b, inputs.list_a)
    yield "difference", difference
    yield "length", len(difference)


def without(entries: AnyList, other: AnyList) -> AnyList:
    keys = {equality_key(entry) for entry in other}
    return [entry for entry in entries if equality_key(entry) not in keys]
