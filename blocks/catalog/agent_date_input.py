"""Agent Date Input: a named date input of the agent."""

from datetime import date

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import BlockOutputs, DateText, pin
from blocks.support.agent_inputs import AgentInputFields, agent_input


class Inputs(AgentInputFields):
    value: DateText | None = pin(None, description="A date as YYYY-MM-DD.")


class Outputs(BlockOutputs):
    result: DateText


EXAMPLES = [
    Example(inputs={"name": "due", "value": "2025-06-15"}, outputs=[("result", "2025-06-15")]),
    Example(inputs={"name": "due"}, note="an unset input emits nothing"),
    Example(inputs={"name": "due", "value": "2025-02-30"}, error="is not a date"),
    Example(inputs={"name": "due", "value": "tomorrow"}, error="is not a date"),
]


@agent_input(
    id="7e198b09-4994-47db-8b4d-952d98241817",
    name="Agent Date Input",
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_date_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """Take a date as a named input of the agent, as YYYY-MM-DD."""
    if inputs.value is None:
        return
    try:
        day = date.fromisoformat(inputs.value.strip())
    except ValueError:
        raise BlockFailed(f"{inputs.value[:50]!r} is not a date. Use the form YYYY-MM-DD.") from None
    yield "result", day.isoformat()
