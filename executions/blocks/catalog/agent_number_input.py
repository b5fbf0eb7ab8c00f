"""Agent Number Input: a named input that is a whole number."""

from __future__ import annotations

from executions.blocks.base import Emissions
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.agent_inputs import AgentInputFields, agent_input, pass_value
from executions.blocks.schema import BlockOutputs, Integer, pin


class Inputs(AgentInputFields):
    value: Integer | None = pin(None, description="What was filled in.")


class Outputs(BlockOutputs):
    result: Integer


EXAMPLES = [
    Example(inputs={"name": "count", "value": 7}, outputs=[("result", 7)]),
    Example(inputs={"name": "count", "value": 0}, outputs=[("result", 0)], note="zero is a value"),
    Example(
        inputs={"name": "count", "value": " 12 "}, outputs=[("result", 12)], note="text that holds a number"
    ),
    Example(inputs={"name": "count", "value": 3.9}, outputs=[("result", 3)], note="a fraction is cut off"),
    Example(inputs={"name": "count"}, note="an unset input emits nothing"),
    Example(inputs={"name": "count", "value": "many"}, error="takes integer|null, not the text 'many'"),
]


@agent_input(
    id="96dae2bb-97a2-41c2-bd2f-13a3b5a8ea98",
    name="Agent Number Input",
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_number_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """A named input of the agent: a whole number."""
    return pass_value(inputs)
