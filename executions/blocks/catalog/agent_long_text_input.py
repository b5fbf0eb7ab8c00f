"""Agent Long Text Input: a named input of several lines of text."""

from __future__ import annotations

from executions.blocks.base import Emissions
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.agent_inputs import AgentInputFields, agent_input, pass_value
from executions.blocks.schema import BlockOutputs, LongText, Text, pin


class Inputs(AgentInputFields):
    value: LongText | None = pin(None, description="What was filled in.")


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
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_long_text_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """A named input of the agent: text of several lines."""
    return pass_value(inputs)
