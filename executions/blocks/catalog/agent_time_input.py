"""Agent Time Input: a named input that is a time of day."""

from __future__ import annotations

from datetime import time

from executions.blocks.base import Emissions
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.families.agent_inputs import AgentInputFields, agent_input
from executions.blocks.schema import BlockOutputs, TimeText, pin


class Inputs(AgentInputFields):
    value: TimeText | None = pin(None, description="A time of day, as HH:MM:SS.")


class Outputs(BlockOutputs):
    result: TimeText


EXAMPLES = [
    Example(inputs={"name": "at", "value": "09:30:00"}, outputs=[("result", "09:30:00")]),
    Example(
        inputs={"name": "at", "value": "09:30"},
        outputs=[("result", "09:30:00")],
        note="seconds may be left out",
    ),
    Example(inputs={"name": "at"}, note="an unset input emits nothing"),
    Example(inputs={"name": "at", "value": "25:00:00"}, error="is no time"),
]


@agent_input(
    id="2a1c757e-86cf-4c7e-aacf-060dc382e434",
    name="Agent Time Input",
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_time_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """A named input of the agent: a time of day, written HH:MM:SS."""
    if inputs.value is None:
        return
    try:
        moment = time.fromisoformat(inputs.value.strip())
    except ValueError:
        raise BlockFailed(f"{inputs.value[:50]!r} is no time. Write it as HH:MM:SS.") from None
    yield "result", moment.isoformat()
