"""Persist Information: store a value for later runs."""

from typing import Literal

from blocks.base import Category, Effects, Emissions, Leaves, block, repeatable_by_key
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.ports import StoreScope
from blocks.schema import JSON, BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    key: Text = pin(description="Name of the value.")
    value: JSON = pin(description="The value.")
    scope: Literal["within_agent", "across_agents"] = pin(
        "within_agent", description="For this agent only, or for all your agents.", advanced=True
    )


class Outputs(BlockOutputs):
    value: JSON


EXAMPLES = [
    Example(inputs={"key": "count", "value": 3}, outputs=[("value", 3)]),
    Example(
        inputs={"key": "name", "value": {"a": 1}, "scope": "across_agents"}, outputs=[("value", {"a": 1})]
    ),
    Example(
        inputs={"key": "x", "value": 1, "scope": "everyone"},
        error="Use one of: within_agent, across_agents.",
    ),
]


@block(
    id="1d055e55-a2b9-4547-8311-907d05b0304d",
    name="Persist Information",
    category=Category.DATA,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=False,
    leaves=Leaves.NOTHING,
    repeatable=repeatable_by_key,
)
def persist_information(inputs: Inputs, context: BlockContext) -> Emissions:
    """Store a value under a name, for later runs of this agent or of all your agents."""
    context.ports.store.put(StoreScope(inputs.scope), inputs.key, inputs.value)
    yield "value", inputs.value
