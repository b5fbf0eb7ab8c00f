"""Create Dictionary: build a dictionary from values."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Object, pin


class Inputs(BlockInputs):
    values: Object = pin(description="The entries; link each to values_#_<key>.")


class Outputs(BlockOutputs):
    dictionary: Object


EXAMPLES = [
    Example(inputs={"values": {"a": 1}}, outputs=[("dictionary", {"a": 1})]),
    Example(
        inputs={"values": {"a": 1}, "values_#_User's Email": "ada@example.com"},
        outputs=[("dictionary", {"a": 1, "User's Email": "ada@example.com"})],
        note="links to individual keys",
    ),
    Example(inputs={"values": [1, 2]}, error="expects object, not the list [1,2]"),
]


@block(
    id="b924ddf4-de4f-4b56-9a85-358930dcbc91",
    name="Create Dictionary",
    category=Category.DATA,
    outputs=Outputs,
    examples=EXAMPLES,
)
def create_dictionary(inputs: Inputs, context: BlockContext) -> Emissions:
    """Build a dictionary from the linked values."""
    yield "dictionary", inputs.values
