"""Agent Short Text Input: a named one-line text input of the agent."""

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockOutputs, ShortText, Text, pin
from blocks.support.agent_inputs import AgentInputFields, agent_input, pass_value


class Inputs(AgentInputFields):
    value: ShortText | None = pin(None, description="The text.")


class Outputs(BlockOutputs):
    result: Text


EXAMPLES = [
    Example(inputs={"name": "topic", "value": "cats"}, outputs=[("result", "cats")]),
    Example(inputs={"name": "topic", "value": ""}, outputs=[("result", "")], note="empty text is emitted"),
    Example(inputs={"name": "topic"}, note="an unset input emits nothing"),
    Example(
        inputs={"name": "year", "value": 2025}, outputs=[("result", "2025")], note="a number becomes text"
    ),
    Example(inputs={"name": None, "value": "cats"}, error="needs the input 'name'"),
]


@agent_input(
    id="7fcd3bcb-8e1b-4e69-903d-32d3d4a92158",
    name="Agent Short Text Input",
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_short_text_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """Take one line of text as a named input of the agent."""
    return pass_value(inputs)
