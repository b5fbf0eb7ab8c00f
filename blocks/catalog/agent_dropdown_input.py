"""Agent Dropdown Input: a named choice input of the agent."""

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import AnyList, BlockOutputs, Text, pin
from blocks.support.agent_inputs import AgentInputFields, agent_input, pass_value


class Inputs(AgentInputFields):
    value: Text | None = pin(None, description="The chosen option.")
    options: AnyList = pin([], description="Options in the input form.")


class Outputs(BlockOutputs):
    result: Text


EXAMPLES = [
    Example(
        inputs={"name": "size", "value": "large", "options": ["small", "large"]},
        outputs=[("result", "large")],
    ),
    Example(
        inputs={"name": "size", "value": "huge", "options": ["small", "large"]},
        outputs=[("result", "huge")],
        note="only the form limits the choice",
    ),
    Example(
        inputs={"name": "size", "value": "large", "placeholder_values": ["small", "large"]},
        outputs=[("result", "large")],
        note="old exports use this name for the options",
    ),
    Example(inputs={"name": "size"}, note="an unset input emits nothing"),
    Example(inputs={"value": "large"}, error="needs the input 'name'"),
]


@agent_input(
    id="655d6fdf-a334-421c-b733-520549c07cd1",
    name="Agent Dropdown Input",
    outputs=Outputs,
    examples=EXAMPLES,
    aliases={"placeholder_values": "options"},
    ignored_inputs=("secret", "limit_to_placeholder_values"),
)
def agent_dropdown_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """Take one of several options as a named input of the agent."""
    return pass_value(inputs)
