"""List Is Empty: check whether a list is empty."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import AnyList, BlockInputs, BlockOutputs, Boolean, pin


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
    outputs=Outputs,
    examples=EXAMPLES,
)
def list_is_empty(inputs: Inputs, context: BlockContext) -> Emissions:
    """Check whether a list has no entries."""
    yield "is_empty", not inputs.list
