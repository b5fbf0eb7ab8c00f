"""Agent Table Input: a named input of rows."""

from __future__ import annotations

from executions.blocks.base import Emissions
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.agent_inputs import AgentInputFields, agent_input
from executions.blocks.schema import BlockOutputs, Objects, Texts, pin


class Inputs(AgentInputFields):
    value: Objects | None = pin(None, description="The rows, each an object with the column names as keys.")
    column_headers: Texts = pin(["Column 1", "Column 2", "Column 3"], description="The columns of the form.")


class Outputs(BlockOutputs):
    result: Objects


EXAMPLES = [
    Example(
        inputs={"name": "people", "value": [{"Name": "Ada"}, {"Name": "Bob"}], "column_headers": ["Name"]},
        outputs=[("result", [{"Name": "Ada"}, {"Name": "Bob"}])],
    ),
    Example(
        inputs={"name": "people"}, outputs=[("result", [])], note="no rows is an empty table, not nothing"
    ),
    Example(
        inputs={"name": "people", "value": ["Ada"]},
        error="'value[0]' of Agent Table Input takes array<object>|null",
    ),
]


@agent_input(
    id="5603b273-f41e-4020-af7d-fbc9c6a8d928",
    name="Agent Table Input",
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_table_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """A named input of the agent: a table, as a list of objects keyed by column."""
    yield "result", inputs.value or []
