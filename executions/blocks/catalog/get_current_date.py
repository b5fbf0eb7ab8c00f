"""Get Current Date: today, or a day near it."""

from __future__ import annotations

from datetime import timedelta

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.families.moments import MomentFormat
from executions.blocks.schema import BlockInputs, BlockOutputs, Integer, Object, Text, pin


class Inputs(BlockInputs):
    trigger: Text = pin(description="Anything: it starts the block.")
    offset: Integer | Text = pin(0, description="How many days back; negative looks ahead.", advanced=True)
    format_type: Object = pin(
        {"discriminator": "strftime"},
        description="strftime with a format, or iso8601; and a time zone.",
        advanced=True,
    )


class Outputs(BlockOutputs):
    date: Text


EXAMPLES = [
    Example(inputs={"trigger": "go"}, outputs=[("date", "2025-06-15")]),
    Example(inputs={"trigger": "go", "offset": "7"}, outputs=[("date", "2025-06-08")], note="a week ago"),
    Example(inputs={"trigger": "go", "offset": -1}, outputs=[("date", "2025-06-16")], note="tomorrow"),
    Example(
        inputs={"trigger": "go", "offset": "soon"}, outputs=[("date", "2025-06-15")], note="no number means 0"
    ),
    Example(
        inputs={"trigger": "go", "format_type": {"discriminator": "iso8601"}},
        outputs=[("date", "2025-06-15")],
    ),
    Example(
        inputs={"trigger": "go", "format": "%d/%m/%Y"},
        outputs=[("date", "15/06/2025")],
        note="as old exports have it",
    ),
    Example(inputs={"trigger": "go", "offset": 10**9}, error="outside the calendar"),
]


@block(
    id="b29c1b50-5d0e-4d9f-8f9d-1b0e6fcbf0b1",
    name="Get Current Date",
    category=Category.TEXT,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    nondeterministic=True,
    aliases={"format": "format_type.format"},
)
def get_current_date(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits today's date, or that of a day before or after."""
    form = MomentFormat.read(inputs.format_type, "%Y-%m-%d")
    try:
        day = form.now(context) - timedelta(days=read_offset(inputs.offset))
    except OverflowError:
        raise BlockFailed("`offset` leads outside the calendar.") from None
    yield "date", form.write(day, day.date().isoformat())


def read_offset(offset: int | str) -> int:
    try:
        return int(offset)
    except ValueError:
        return 0
