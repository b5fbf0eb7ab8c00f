"""Find In List: find the index of a value."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Boolean, Integer, pin
from blocks.support.equality import find_index


class Inputs(BlockInputs):
    list: AnyList = pin(description="The list.")
    value: JSON = pin(description="The value to find.")


class Outputs(BlockOutputs):
    index: Integer
    found: Boolean
    not_found_value: JSON


EXAMPLES = [
    Example(inputs={"list": ["a", "b", "b"], "value": "b"}, outputs=[("index", 1), ("found", True)]),
    Example(inputs={"list": [{"x": 1}], "value": {"x": 1.0}}, outputs=[("index", 0), ("found", True)]),
    Example(
        inputs={"list": [1, 2], "value": True},
        outputs=[("found", False), ("not_found_value", True)],
        note="true is not 1",
    ),
    Example(inputs={"list": [1]}, error="needs the input 'value'"),
]


@block(
    id="5e2c6d0a-1e37-489f-b1d0-8e1812b23333",
    name="Find In List",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def find_in_list(inputs: Inputs, context: BlockContext) -> Emissions:
    """Return the index of the first entry that equals a value, or the value itself if there is none."""
    index = find_index(inputs.list, inputs.value)
    if index is None:
        yield "found", False
        yield "not_found_value", inputs.value
        return
    yield "index", index
    yield "found", True
