"""Agent Time Input: a named time input of the agent."""

from datetime import time

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import BlockOutputs, TimeText, pin
from blocks.support.agent_inputs import AgentInputFields, agent_input


class Inputs(AgentInputFields):
    value: TimeText | None = pin(None, description="A time of day as HH:MM:SS.")


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
    Example(inputs={"name": "at", "value": "25:00:00"}, error="is not a time"),
]


@agent_input(
    id="2a1c757e-86cf-4c7e-aacf-060dc382e434",
    name="Agent Time Input",
    outputs=Outputs,
    examples=EXAMPLES,
)
def agent_time_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """Take a time of day as a named input of the agent, as HH:MM:SS."""
    if inputs.value is None:
        return
    try:
        moment = time.fromisoformat(inputs.value.strip())
    except ValueError:
        raise BlockFailed(f"{inputs.value[:50]!r} is not a time. Use the form HH:MM:SS.") from None
    yield "result", moment.isoformat()
