"""Agent Dropdown Input: a named input chosen from a list."""

from __future__ import annotations

from executions.blocks.base import Emissions
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.agent_inputs import AgentInputFields, agent_input, pass_value
from executions.blocks.schema import AnyList, BlockOutputs, Text, pin


class Inputs(AgentInputFields):
    value: Text | None = pin(None, description="What was chosen.")
    options: AnyList = pin([], description="What the form offers.")


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
        note="the form limits the choice, the run does not",
    ),
    Example(
        inputs={"name": "size", "value": "large", "placeholder_values": ["small", "large"]},
        outputs=[("result", "large")],
        note="the name old exports give the options",
    ),
    Example(inputs={"name": "size"}, note="an unset input emits nothing"),
    Example(inputs={"value": "large"}, error="needs the input 'name'"),
]


@agent_input(
    id="655d6fdf-a334-421c-b733-520549c07cd1",
    name="Agent Dropdown Input",
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    aliases={"placeholder_values": "options"},
    ignored_inputs=("secret", "limit_to_placeholder_values"),
)
def agent_dropdown_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """A named input of the agent: one text out of a list of options."""
    return pass_value(inputs)
