"""Agent Number Input: a named number input of the agent."""

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockOutputs, Integer, pin
from blocks.support.agent_inputs import AgentInputFields, agent_input, pass_value


class Inputs(AgentInputFields):
    value: Integer | None = pin(None, description="The number.")


class Outputs(BlockOutputs):
    result: Integer


EXAMPLES = [
    Example(inputs={"name": "count", "value": 7}, outputs=[("result", 7)]),
    Example(inputs={"name": "count", "value": 0}, outputs=[("result", 0)], note="zero is a value"),
    Example(
        inputs={"name": "count", "value": " 12 "},
        outputs=[("result", 12)],
        note="text that contains a number",
    ),
    Example(inputs={"name": "count", "value": 3.9}, outputs=[("result", 3)], note="a fraction is cut off"),
    Example(inputs={"name": "count"}, note="an unset input emits nothing"),
    Example(inputs={"name": "count", "value": "many"}, error="expects integer|null, not the text 'many'"),
]


@agent_input(
    id="96dae2bb-97a2-41c2-bd2f-13a3b5a8ea98",
    name="Agent Number Input",
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_number_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """Take a whole number as a named input of the agent."""
    return pass_value(inputs)
