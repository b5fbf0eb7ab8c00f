"""Get Current Time: get the current time of day."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example, World
from blocks.schema import BlockInputs, BlockOutputs, Object, Text, pin
from blocks.support.time_formats import TRIGGER_NOTE, TimeFormat, format_pin


class Inputs(BlockInputs):
    trigger: Text = pin(description=TRIGGER_NOTE)
    format_type: Object = format_pin()


class Outputs(BlockOutputs):
    time: Text


EXAMPLES = [
    Example(inputs={"trigger": "go"}, outputs=[("time", "12:30:45")]),
    Example(
        inputs={
            "trigger": "go",
            "format_type": {"discriminator": "strftime", "format": "%H:%M", "timezone": "Asia/Tokyo"},
        },
        outputs=[("time", "21:30")],
    ),
    Example(
        inputs={"trigger": "go", "format_type": {"discriminator": "iso8601", "use_user_timezone": True}},
        outputs=[("time", "T14:30:45+02:00")],
        world=World(timezone="Europe/Berlin"),
    ),
    Example(
        inputs={"trigger": "go", "format_type": {"timezone": "Mars/Base"}},
        error="time zone 'Mars/Base' is unknown",
    ),
]


@block(
    id="a892b8d9-3e4e-4e9c-9c1e-75f8efcf1bfa",
    name="Get Current Time",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
    nondeterministic=True,
)
def get_current_time(inputs: Inputs, context: BlockContext) -> Emissions:
    """Return the current time of day."""
    form = TimeFormat.read(inputs.format_type, "%H:%M:%S")
    now = form.now(context)
    yield "time", form.write(now, "T" + now.isoformat(timespec=form.timespec).partition("T")[2])
