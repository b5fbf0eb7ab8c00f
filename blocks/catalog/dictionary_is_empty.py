"""Dictionary Is Empty: check whether a dictionary is empty."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Boolean, Object, pin


class Inputs(BlockInputs):
    dictionary: Object = pin(description="The dictionary.")


class Outputs(BlockOutputs):
    is_empty: Boolean


EXAMPLES = [
    Example(inputs={"dictionary": {}}, outputs=[("is_empty", True)]),
    Example(inputs={"dictionary": {"a": None}}, outputs=[("is_empty", False)]),
    Example(inputs={"dictionary": 5}, error="expects object, not the number 5"),
]


@block(
    id="a3cf3f64-6bb9-4cc6-9900-608a0b3359b0",
    name="Dictionary Is Empty",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def dictionary_is_empty(inputs: Inputs, context: BlockContext) -> Emissions:
    """Check whether a dictionary has no entries."""
    yield "is_empty", not inputs.dictionary
