"""Agent Date Input: a named input that is a day."""

from __future__ import annotations

from datetime import date

from executions.blocks.base import Emissions
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.families.agent_inputs import AgentInputFields, agent_input
from executions.blocks.schema import BlockOutputs, DateText, pin


class Inputs(AgentInputFields):
    value: DateText | None = pin(None, description="A day, as YYYY-MM-DD.")


class Outputs(BlockOutputs):
    result: DateText


EXAMPLES = [
    Example(inputs={"name": "due", "value": "2025-06-15"}, outputs=[("result", "2025-06-15")]),
    Example(inputs={"name": "due"}, note="an unset input emits nothing"),
    Example(inputs={"name": "due", "value": "2025-02-30"}, error="is no date"),
    Example(inputs={"name": "due", "value": "tomorrow"}, error="is no date"),
]


@agent_input(
    id="7e198b09-4994-47db-8b4d-952d98241817",
    name="Agent Date Input",
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_date_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """A named input of the agent: a day, written YYYY-MM-DD."""
    if inputs.value is None:
        return
    try:
        day = date.fromisoformat(inputs.value.strip())
    except ValueError:
        raise BlockFailed(f"{inputs.value[:50]!r} is no date. Write it as YYYY-MM-DD.") from None
    yield "result", day.isoformat()
