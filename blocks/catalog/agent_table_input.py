"""Agent Table Input: a named table input of the agent."""

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockOutputs, Objects, Texts, pin
from blocks.support.agent_inputs import AgentInputFields, agent_input


class Inputs(AgentInputFields):
    value: Objects | None = pin(None, description="Rows, as objects keyed by column name.")
    column_headers: Texts = pin(
        ["Column 1", "Column 2", "Column 3"], description="Columns in the input form."
    )


class Outputs(BlockOutputs):
    result: Objects


EXAMPLES = [
    Example(
        inputs={"name": "people", "value": [{"Name": "Ada"}, {"Name": "Bob"}], "column_headers": ["Name"]},
        outputs=[("result", [{"Name": "Ada"}, {"Name": "Bob"}])],
    ),
    Example(
        inputs={"name": "people"}, outputs=[("result", [])], note="an unset table is emitted as an empty list"
    ),
    Example(
        inputs={"name": "people", "value": ["Ada"]},
        error="'value[0]' of Agent Table Input expects array<object>|null",
    ),
]


@agent_input(
    id="5603b273-f41e-4020-af7d-fbc9c6a8d928",
    name="Agent Table Input",
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_table_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """Take a table as a named input of the agent, as a list of objects keyed by column."""
    yield "result", inputs.value or []
