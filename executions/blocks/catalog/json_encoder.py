"""JSON Encoder: any value as JSON text."""

from __future__ import annotations

import json

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    data: JSON = pin(description="The value.")


class Outputs(BlockOutputs):
    json_str: Text


EXAMPLES = [
    Example(inputs={"data": {"a": [1, None, "é"]}}, outputs=[("json_str", '{"a":[1,null,"é"]}')]),
    Example(inputs={"data": "text"}, outputs=[("json_str", '"text"')]),
    Example(inputs={"data": float("inf")}, error="have no JSON form"),
]


@block(
    id="9a9d20c5-5b4d-4e94-8022-83b6cb72648a",
    name="JSON Encoder",
    category=Category.DATA,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def json_encoder(inputs: Inputs, context: BlockContext) -> Emissions:
    """Writes a value as compact JSON text."""
    try:
        text = json.dumps(inputs.data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise BlockFailed("The value has no JSON form: it holds infinity, or is nested too deeply.") from None
    yield "json_str", text
