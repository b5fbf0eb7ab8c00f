"""Remove From Dictionary: a copy without one key."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Integer, Object, Text, pin


class Inputs(BlockInputs):
    dictionary: Object = pin(description="The dictionary.")
    key: Text | Integer = pin(description="The key to remove.")
    return_value: Boolean = pin(False, description="Emit the removed value too.", advanced=True)


class Outputs(BlockOutputs):
    updated_dictionary: Object
    removed_value: JSON


EXAMPLES = [
    Example(inputs={"dictionary": {"a": 1, "b": 2}, "key": "a"}, outputs=[("updated_dictionary", {"b": 2})]),
    Example(
        inputs={"dictionary": {"a": 1}, "key": "a", "return_value": True},
        outputs=[("updated_dictionary", {}), ("removed_value", 1)],
    ),
    Example(inputs={"dictionary": {"a": 1}, "key": "b"}, error="There is no key 'b'"),
]


@block(
    id="46afe2ea-c613-43f8-95ff-6692c3ef6876",
    name="Remove From Dictionary",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def remove_from_dictionary(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits a copy of a dictionary without one key, and the removed value on request."""
    rest, key = dict(inputs.dictionary), str(inputs.key)
    if key not in rest:
        raise BlockFailed(f"There is no key {key!r} in the dictionary.")
    removed = rest.pop(key)
    yield "updated_dictionary", rest
    if inputs.return_value:
        yield "removed_value", removed
