"""List Is Empty: has a list any entries?"""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.schema import AnyList, BlockInputs, BlockOutputs, Boolean, pin


class Inputs(BlockInputs):
    list: AnyList = pin(description="The list.")


class Outputs(BlockOutputs):
    is_empty: Boolean


EXAMPLES = [
    Example(inputs={"list": []}, outputs=[("is_empty", True)]),
    Example(inputs={"list": [0]}, outputs=[("is_empty", False)]),
    Example(inputs={"list": None}, error="needs the input 'list'"),
]


@block(
    id="896ed73b-27d0-41be-813c-c1c1dc856c03",
    name="List Is Empty",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def list_is_empty(inputs: Inputs, context: BlockContext) -> Emissions:
    """Tells whether a list has no entries."""
    yield "is_empty", not inputs.list
