"""Agent Toggle Input: a named on/off input of the agent."""

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockOutputs, Boolean, pin
from blocks.support.agent_inputs import AgentInputFields, agent_input, pass_value


class Inputs(AgentInputFields):
    value: Boolean = pin(False, description="On or off.")


class Outputs(BlockOutputs):
    result: Boolean


EXAMPLES = [
    Example(inputs={"name": "loud", "value": True}, outputs=[("result", True)]),
    Example(inputs={"name": "loud"}, outputs=[("result", False)], note="off unless switched on"),
    Example(inputs={"name": "loud", "value": "yes"}, outputs=[("result", True)]),
    Example(inputs={"name": "loud", "value": "maybe"}, error="expects boolean, not the text 'maybe'"),
]


@agent_input(
    id="cbf36ab5-df4a-43b6-8a7f-f7ed8652116e",
    name="Agent Toggle Input",
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_toggle_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """Take on or off as a named input of the agent."""
    return pass_value(inputs)
