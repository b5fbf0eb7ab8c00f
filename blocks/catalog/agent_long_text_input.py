"""Agent Long Text Input: a named multi-line text input of the agent."""

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockOutputs, LongText, Text, pin
from blocks.support.agent_inputs import AgentInputFields, agent_input, pass_value


class Inputs(AgentInputFields):
    value: LongText | None = pin(None, description="The text.")


class Outputs(BlockOutputs):
    result: Text


EXAMPLES = [
    Example(
        inputs={"name": "letter", "value": "Dear all,\nhello."}, outputs=[("result", "Dear all,\nhello.")]
    ),
    Example(inputs={"name": "letter"}, note="an unset input emits nothing"),
    Example(inputs={"name": "letter", "text": "Dear all"}, error="has no input 'text'"),
]


@agent_input(
    id="90a56ffb-7024-4b2b-ab50-e26c5e5ab8ba",
    name="Agent Long Text Input",
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_long_text_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """Take several lines of text as a named input of the agent."""
    return pass_value(inputs)
