"""JSON Encoder: convert a value to JSON text."""

import json

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    data: JSON = pin(description="The value.")


class Outputs(BlockOutputs):
    json_str: Text


EXAMPLES = [
    Example(inputs={"data": {"a": [1, None, "é"]}}, outputs=[("json_str", '{"a":[1,null,"é"]}')]),
    Example(inputs={"data": "text"}, outputs=[("json_str", '"text"')]),
    Example(inputs={"data": float("inf")}, error="cannot be represented as JSON"),
]


@block(
    id="9a9d20c5-5b4d-4e94-8022-83b6cb72648a",
    name="JSON Encoder",
    category=Category.DATA,
    outputs=Outputs,
    examples=EXAMPLES,
)
def json_encoder(inputs: Inputs, context: BlockContext) -> Emissions:
    """Convert a value to compact JSON text."""
    try:
        text = json.dumps(inputs.data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise BlockFailed(
            "The value cannot be represented as JSON: it contains infinity or is nested too deeply."
        ) from None
    yield "json_str", text
