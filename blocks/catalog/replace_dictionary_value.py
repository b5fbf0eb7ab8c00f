"""Replace Dictionary Value: replace a value in a copy of a dictionary."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Integer, Object, Text, pin


class Inputs(BlockInputs):
    dictionary: Object = pin(description="The dictionary.")
    key: Text | Integer = pin(description="An existing key.")
    value: JSON = pin(description="The new value.")


class Outputs(BlockOutputs):
    updated_dictionary: Object
    old_value: JSON


EXAMPLES = [
    Example(
        inputs={"dictionary": {"a": 1}, "key": "a", "value": 2},
        outputs=[("updated_dictionary", {"a": 2}), ("old_value", 1)],
    ),
    Example(inputs={"dictionary": {"a": 1}, "key": "b", "value": 2}, error="has no key 'b'"),
]


@block(
    id="27e31876-18b6-44f3-ab97-f6226d8b3889",
    name="Replace Dictionary Value",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def replace_dictionary_value(inputs: Inputs, context: BlockContext) -> Emissions:
    """Replace the value of an existing key in a copy of a dictionary, and return the old value."""
    key = str(inputs.key)
    if key not in inputs.dictionary:
        raise BlockFailed(f"The dictionary has no key {key!r}. Use Add To Dictionary to add it.")
    yield "updated_dictionary", inputs.dictionary | {key: inputs.value}
    yield "old_value", inputs.dictionary[key]
