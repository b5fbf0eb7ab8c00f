"""Agent Input: a named input of the agent, of any type."""

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, BlockOutputs
from blocks.support.agent_inputs import AgentInputFields, agent_input, pass_value


class Outputs(BlockOutputs):
    result: JSON


EXAMPLES = [
    Example(inputs={"name": "topic", "value": "cats"}, outputs=[("result", "cats")]),
    Example(
        inputs={"name": "limits", "value": {"most": 3}}, outputs=[("result", {"most": 3})], note="any type"
    ),
    Example(inputs={"name": "topic", "value": None}, note="an unset input emits nothing"),
    Example(
        inputs={"name": "topic", "value": 0, "secret": False, "placeholder_values": []},
        outputs=[("result", 0)],
        note="keys of old exports are ignored",
    ),
    Example(inputs={"value": "cats"}, error="needs the input 'name'"),
]


@agent_input(
    id="c0a8e994-ebf1-4a9c-a4d8-89d09c86741b",
    name="Agent Input",
    inputs=AgentInputFields,
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_input_block(inputs: AgentInputFields, context: BlockContext) -> Emissions:
    """Take a named input of the agent, of any type. Emits nothing if it is not set."""
    return pass_value(inputs)
