"""Agent Toggle Input: a named input that is on or off."""

from __future__ import annotations

from executions.blocks.base import Emissions
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.agent_inputs import AgentInputFields, agent_input, pass_value
from executions.blocks.schema import BlockOutputs, Boolean, pin


class Inputs(AgentInputFields):
    value: Boolean = pin(False, description="On or off.")


class Outputs(BlockOutputs):
    result: Boolean


EXAMPLES = [
    Example(inputs={"name": "loud", "value": True}, outputs=[("result", True)]),
    Example(inputs={"name": "loud"}, outputs=[("result", False)], note="off unless switched on"),
    Example(inputs={"name": "loud", "value": "yes"}, outputs=[("result", True)]),
    Example(inputs={"name": "loud", "value": "maybe"}, error="takes boolean, not the text 'maybe'"),
]


@agent_input(
    id="cbf36ab5-df4a-43b6-8a7f-f7ed8652116e",
    name="Agent Toggle Input",
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_toggle_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """A named input of the agent: on or off."""
    return pass_value(inputs)
