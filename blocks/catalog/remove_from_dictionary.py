"""Remove From Dictionary: remove a key from a copy of a dictionary."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Integer, Object, Text, pin


class Inputs(BlockInputs):
    dictionary: Object = pin(description="The dictionary.")
    key: Text | Integer = pin(description="The key to remove.")
    return_value: Boolean = pin(False, description="Also return the removed value.", advanced=True)


class Outputs(BlockOutputs):
    updated_dictionary: Object
    removed_value: JSON


EXAMPLES = [
    Example(inputs={"dictionary": {"a": 1, "b": 2}, "key": "a"}, outputs=[("updated_dictionary", {"b": 2})]),
    Example(
        inputs={"dictionary": {"a": 1}, "key": "a", "return_value": True},
        outputs=[("updated_dictionary", {}), ("removed_value", 1)],
    ),
    Example(inputs={"dictionary": {"a": 1}, "key": "b"}, error="has no key 'b'"),
]


@block(
    id="46afe2ea-c613-43f8-95ff-6692c3ef6876",
    name="Remove From Dictionary",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def remove_from_dictionary(inputs: Inputs, context: BlockContext) -> Emissions:
    """Remove a key from a copy of a dictionary, and optionally return the removed value."""
    rest, key = dict(inputs.dictionary), str(inputs.key)
    if key not in rest:
        raise BlockFailed(f"The dictionary has no key {key!r}.")
    removed = rest.pop(key)
    yield "updated_dictionary", rest
    if inputs.return_value:
        yield "removed_value", removed
