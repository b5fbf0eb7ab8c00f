"""Generic Webhook Trigger: the start of an agent that is called from outside."""

from __future__ import annotations

from executions.blocks.base import BlockType, Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.schema import BlockInputs, BlockOutputs, Object, Text, pin


class Inputs(BlockInputs):
    payload: Object = pin({}, description="What the caller sent.", advanced=True, hidden=True)
    constants: Object = pin({}, description="Fixed values to pass on.", advanced=True)
    secret_token: Text | None = pin(None, description="What the caller signs with.", secret=True)


class Outputs(BlockOutputs):
    payload: Object
    constants: Object


EXAMPLES = [
    Example(
        inputs={"payload": {"order": 7}, "constants": {"shop": "a"}},
        outputs=[("constants", {"shop": "a"}), ("payload", {"order": 7})],
    ),
    Example(inputs={"payload": [7]}, error="takes object, not the list [7]"),
]


@block(
    id="8fa8c167-2002-47ce-aba8-97572fc5d387",
    name="Generic Webhook Trigger",
    category=Category.INPUT,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.WEBHOOK_MANUAL,
    reads_outside=True,
    runs_alone=False,
)
def generic_webhook_trigger(inputs: Inputs, context: BlockContext) -> Emissions:
    """Starts an agent when a web request comes in; emits fixed values and what was sent."""
    yield "constants", inputs.constants
    yield "payload", inputs.payload
