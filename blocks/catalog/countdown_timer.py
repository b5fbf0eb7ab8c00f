"""Countdown Timer: emit a message after a delay."""

from datetime import datetime, timedelta

from blocks import limits
from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.ports import StoreScope
from blocks.schema import JSON, BlockInputs, BlockOutputs, Integer, Text, pin

STARTED_KEY = "countdown_started_at"


class Inputs(BlockInputs):
    input_message: JSON = pin("timer finished", description="The message to emit.")
    seconds: Integer | Text = pin(0, description="Seconds to wait.")
    minutes: Integer | Text = pin(0, description="Minutes to wait.")
    hours: Integer | Text = pin(0, description="Hours to wait.")
    days: Integer | Text = pin(0, description="Days to wait.")
    repeat: Integer = pin(1, description="How many times to repeat.", advanced=True, ge=1, le=1000)


class Outputs(BlockOutputs):
    output_message: JSON


EXAMPLES = [
    Example(inputs={"seconds": 5}, outputs=[("output_message", "timer finished")]),
    Example(
        inputs={"input_message": {"go": 1}, "minutes": "2", "repeat": 2},
        outputs=[("output_message", {"go": 1}), ("output_message", {"go": 1})],
    ),
    Example(
        inputs={"seconds": 5, "repeat": 3},
        outputs=[("output_message", "timer finished")],
        note="a second attempt continues where the first stopped",
        world=World(
            recorded_outputs=2, stored={"node_execution/countdown_started_at": "2025-06-15T12:30:40+00:00"}
        ),
    ),
    Example(inputs={"seconds": "soon"}, error="`seconds` must be a whole number"),
    Example(inputs={"seconds": -1}, error="negative"),
    Example(inputs={"seconds": 1, "repeat": 0}, error="greater than or equal to 1"),
    Example(inputs={"days": 4, "repeat": 2}, error="at most 7 days"),
]


@block(
    id="d67a9c52-5e4e-11e2-bcfd-0800200c9a71",
    name="Countdown Timer",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
    nondeterministic=True,
    repeats=("output_message",),
    resumable=True,
    time_cap_seconds=limits.COUNTDOWN_NODE_SECONDS,
)
def countdown_timer(inputs: Inputs, context: BlockContext) -> Emissions:
    """Wait, then emit a message, once or several times.

    The start time is stored, so a restarted run waits only for the remaining time.
    """
    seconds = total_seconds(inputs)
    now = context.now().isoformat()
    started = datetime.fromisoformat(
        context.ports.store.put_if_absent(StoreScope.NODE_EXECUTION, STARTED_KEY, now)
    )
    for count in range(context.recorded_outputs + 1, inputs.repeat + 1):
        context.wait_until(started + timedelta(seconds=seconds * count))
        yield "output_message", inputs.input_message


def total_seconds(inputs: Inputs) -> int:
    seconds = (
        read_part("seconds", inputs.seconds)
        + read_part("minutes", inputs.minutes) * 60
        + read_part("hours", inputs.hours) * 3_600
        + read_part("days", inputs.days) * 86_400
    )
    if seconds < 0:
        raise BlockFailed("The time to wait must not be negative.")
    if seconds * inputs.repeat > limits.MAX_COUNTDOWN_SECONDS:
        raise BlockFailed(
            f"A countdown can take at most {limits.MAX_COUNTDOWN_SECONDS // 86_400} days in total."
        )
    return seconds


def read_part(name: str, part: int | str) -> int:
    try:
        return int(part)
    except ValueError:
        raise BlockFailed(f"`{name}` must be a whole number.") from None
