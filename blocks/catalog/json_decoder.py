"""JSON Decoder: parse JSON text."""

from blocks.base import Category, Emissions, block
from blocks.coercion import parse_json
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    json_str: Text = pin(description="JSON text.")


class Outputs(BlockOutputs):
    data: JSON


EXAMPLES = [
    Example(inputs={"json_str": '{"a": [1, true]}'}, outputs=[("data", {"a": [1, True]})]),
    Example(inputs={"json_str": "5"}, outputs=[("data", 5)]),
    Example(inputs={"json_str": "null"}, outputs=[("data", None)]),
    Example(inputs={"json_str": "{'a': 1}"}, error="not valid JSON"),
    Example(inputs={"json_str": "1e400"}, error="no JSON form"),
    Example(inputs={"json_str": "NaN"}, error="NaN is not valid JSON"),
]


@block(
    id="2b935639-65bc-48fd-9f88-823cd706fcd9",
    name="JSON Decoder",
    category=Category.DATA,
    outputs=Outputs,
    examples=EXAMPLES,
)
def json_decoder(inputs: Inputs, context: BlockContext) -> Emissions:
    """Parse JSON text."""
    try:
        yield "data", parse_json(inputs.json_str)
    except ValueError as error:
        raise BlockFailed(f"The text is not valid JSON: {error}.") from None
