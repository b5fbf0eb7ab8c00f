"""Find In List: where a value is."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.equality import equality_key
from executions.blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Boolean, Integer, pin


class Inputs(BlockInputs):
    list: AnyList = pin(description="The list.")
    value: JSON = pin(description="The value to look for.")


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
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def find_in_list(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits the index of the first entry that equals a value, or the value itself when there is none."""
    wanted = equality_key(inputs.value)
    index = next((index for index, entry in enumerate(inputs.list) if equality_key(entry) == wanted), None)
    if index is None:
        yield "found", False
        yield "not_found_value", inputs.value
        return
    yield "index", index
    yield "found", True
