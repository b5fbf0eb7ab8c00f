"""JSON Decoder: JSON text as the value it holds."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.coercion import parse_json
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    json_str: Text = pin(description="JSON text.")


class Outputs(BlockOutputs):
    data: JSON


EXAMPLES = [
    Example(inputs={"json_str": '{"a": [1, true]}'}, outputs=[("data", {"a": [1, True]})]),
    Example(inputs={"json_str": "5"}, outputs=[("data", 5)]),
    Example(inputs={"json_str": "null"}, outputs=[("data", None)]),
    Example(inputs={"json_str": "{'a': 1}"}, error="no JSON"),
    Example(inputs={"json_str": "1e400"}, error="no JSON form"),
    Example(inputs={"json_str": "NaN"}, error="NaN is not valid JSON"),
]


@block(
    id="2b935639-65bc-48fd-9f88-823cd706fcd9",
    name="JSON Decoder",
    category=Category.DATA,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def json_decoder(inputs: Inputs, context: BlockContext) -> Emissions:
    """Reads JSON text of any kind."""
    try:
        yield "data", parse_json(inputs.json_str)
    except ValueError as error:
        raise BlockFailed(f"The text is no JSON: {error}.") from None
