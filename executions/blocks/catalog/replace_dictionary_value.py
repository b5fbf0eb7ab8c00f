"""Replace Dictionary Value: a copy with another value under a key that is there."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Integer, Object, Text, pin


class Inputs(BlockInputs):
    dictionary: Object = pin(description="The dictionary.")
    key: Text | Integer = pin(description="A key that is there.")
    value: JSON = pin(description="Its new value.")


class Outputs(BlockOutputs):
    updated_dictionary: Object
    old_value: JSON


EXAMPLES = [
    Example(
        inputs={"dictionary": {"a": 1}, "key": "a", "value": 2},
        outputs=[("updated_dictionary", {"a": 2}), ("old_value", 1)],
    ),
    Example(inputs={"dictionary": {"a": 1}, "key": "b", "value": 2}, error="There is no key 'b'"),
]


@block(
    id="27e31876-18b6-44f3-ab97-f6226d8b3889",
    name="Replace Dictionary Value",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def replace_dictionary_value(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits a copy of a dictionary with the value of an existing key replaced, and the old value."""
    key = str(inputs.key)
    if key not in inputs.dictionary:
        raise BlockFailed(f"There is no key {key!r} in the dictionary. Use Add To Dictionary to make one.")
    yield "updated_dictionary", inputs.dictionary | {key: inputs.value}
    yield "old_value", inputs.dictionary[key]
