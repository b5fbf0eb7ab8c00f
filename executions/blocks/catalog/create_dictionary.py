"""Create Dictionary: an object out of named values."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.schema import BlockInputs, BlockOutputs, Object, pin


class Inputs(BlockInputs):
    values: Object = pin(description="The entries; link each to values_#_<key>.")


class Outputs(BlockOutputs):
    dictionary: Object


EXAMPLES = [
    Example(inputs={"values": {"a": 1}}, outputs=[("dictionary", {"a": 1})]),
    Example(
        inputs={"values": {"a": 1}, "values_#_User's Email": "ada@example.com"},
        outputs=[("dictionary", {"a": 1, "User's Email": "ada@example.com"})],
        note="links to single keys",
    ),
    Example(inputs={"values": [1, 2]}, error="takes object, not the list [1,2]"),
]


@block(
    id="b924ddf4-de4f-4b56-9a85-358930dcbc91",
    name="Create Dictionary",
    category=Category.DATA,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def create_dictionary(inputs: Inputs, context: BlockContext) -> Emissions:
    """Makes one dictionary out of the values linked to it."""
    yield "dictionary", inputs.values
