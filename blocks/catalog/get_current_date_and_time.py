"""Get Current Date And Time: get the current date and time."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Object, Text, pin
from blocks.support.time_formats import TRIGGER_NOTE, TimeFormat, format_pin


class Inputs(BlockInputs):
    trigger: Text = pin(description=TRIGGER_NOTE)
    format_type: Object = format_pin()


class Outputs(BlockOutputs):
    date_time: Text


EXAMPLES = [
    Example(inputs={"trigger": "go"}, outputs=[("date_time", "2025-06-15 12:30:45")]),
    Example(
        inputs={"trigger": "go", "format_type": {"discriminator": "iso8601", "include_microseconds": True}},
        outputs=[("date_time", "2025-06-15T12:30:45.000000+00:00")],
    ),
    Example(
        inputs={"trigger": "go", "format_type": {"discriminator": "unix"}}, error="Use strftime or iso8601"
    ),
    Example(
        inputs={"trigger": "go", "format_type": "iso8601"}, error="expects object, not the text 'iso8601'"
    ),
]


@block(
    id="716a67b3-6760-42e7-86dc-18645c6e00fc",
    name="Get Current Date And Time",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
    nondeterministic=True,
)
def get_current_date_and_time(inputs: Inputs, context: BlockContext) -> Emissions:
    """Return the current date and time."""
    form = TimeFormat.read(inputs.format_type, "%Y-%m-%d %H:%M:%S")
    now = form.now(context)
    yield "date_time", form.write(now, now.isoformat(timespec=form.timespec))
