"""Print To Console: pass a value on and say so, for debugging."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    text: JSON = pin(description="The value to show.")


class Outputs(BlockOutputs):
    output: JSON
    status: Text


EXAMPLES = [
    Example(inputs={"text": {"a": 1}}, outputs=[("output", {"a": 1}), ("status", "printed")]),
    Example(inputs={"text": None}, error="needs the input 'text'"),
]


@block(
    id="f3b1c1b2-4c4f-4f0d-8d2f-4c4f0d8d2f4c",
    name="Print To Console",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    sensitive=True,
)
def print_to_console(inputs: Inputs, context: BlockContext) -> Emissions:
    """Shows a value in the run for debugging; old agents use it."""
    yield "output", inputs.text
    yield "status", "printed"
