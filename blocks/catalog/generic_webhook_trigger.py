"""Generic Webhook Trigger: start an agent by a web request."""

from blocks.base import BlockType, Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Object, Text, pin


class Inputs(BlockInputs):
    payload: Object = pin({}, description="Payload of the request.", advanced=True, hidden=True)
    constants: Object = pin({}, description="Fixed values to pass on.", advanced=True)
    secret_token: Text | None = pin(
        None, description="Secret with which the caller signs requests.", secret=True
    )


class Outputs(BlockOutputs):
    payload: Object
    constants: Object


EXAMPLES = [
    Example(
        inputs={"payload": {"order": 7}, "constants": {"shop": "a"}},
        outputs=[("constants", {"shop": "a"}), ("payload", {"order": 7})],
    ),
    Example(inputs={"payload": [7]}, error="expects object, not the list [7]"),
]


@block(
    id="8fa8c167-2002-47ce-aba8-97572fc5d387",
    name="Generic Webhook Trigger",
    category=Category.INPUT,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.WEBHOOK_MANUAL,
    reads_outside=True,
    runs_alone=False,
)
def generic_webhook_trigger(inputs: Inputs, context: BlockContext) -> Emissions:
    """Start an agent when a web request arrives, and emit fixed values and the payload."""
    yield "constants", inputs.constants
    yield "payload", inputs.payload
