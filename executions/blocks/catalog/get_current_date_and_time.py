"""Get Current Date And Time: the present."""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.moments import MomentFormat
from executions.blocks.schema import BlockInputs, BlockOutputs, Object, Text, pin


class Inputs(BlockInputs):
    trigger: Text = pin(description="Anything: it starts the block.")
    format_type: Object = pin(
        {"discriminator": "strftime"},
        description="strftime with a format, or iso8601; and a time zone.",
        advanced=True,
    )


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
    Example(inputs={"trigger": "go", "format_type": "iso8601"}, error="takes object, not the text 'iso8601'"),
]


@block(
    id="716a67b3-6760-42e7-86dc-18645c6e00fc",
    name="Get Current Date And Time",
    category=Category.TEXT,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    nondeterministic=True,
)
def get_current_date_and_time(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits the present date and time."""
    form = MomentFormat.read(inputs.format_type, "%Y-%m-%d %H:%M:%S")
    now = form.now(context)
    yield "date_time", form.write(now, now.isoformat(timespec=form.timespec))
