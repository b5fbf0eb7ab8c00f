"""Get Current Date: get today's date or a date relative to it."""

from datetime import timedelta

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Integer, Object, Text, pin
from blocks.support.time_formats import TRIGGER_NOTE, TimeFormat, format_pin


class Inputs(BlockInputs):
    trigger: Text = pin(description=TRIGGER_NOTE)
    offset: Integer | Text = pin(0, description="Days to go back; negative for days ahead.", advanced=True)
    format_type: Object = format_pin()


class Outputs(BlockOutputs):
    date: Text


EXAMPLES = [
    Example(inputs={"trigger": "go"}, outputs=[("date", "2025-06-15")]),
    Example(inputs={"trigger": "go", "offset": "7"}, outputs=[("date", "2025-06-08")], note="a week ago"),
    Example(inputs={"trigger": "go", "offset": -1}, outputs=[("date", "2025-06-16")], note="tomorrow"),
    Example(
        inputs={"trigger": "go", "offset": "soon"},
        outputs=[("date", "2025-06-15")],
        note="text without a number counts as 0",
    ),
    Example(
        inputs={"trigger": "go", "format_type": {"discriminator": "iso8601"}},
        outputs=[("date", "2025-06-15")],
    ),
    Example(
        inputs={"trigger": "go", "format": "%d/%m/%Y"},
        outputs=[("date", "15/06/2025")],
        note="as in old exports",
    ),
    Example(inputs={"trigger": "go", "offset": 10**9}, error="too large for a date"),
]


@block(
    id="b29c1b50-5d0e-4d9f-8f9d-1b0e6fcbf0b1",
    name="Get Current Date",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
    nondeterministic=True,
    aliases={"format": "format_type.format"},
)
def get_current_date(inputs: Inputs, context: BlockContext) -> Emissions:
    """Return today's date, or a date before or after it."""
    form = TimeFormat.read(inputs.format_type, "%Y-%m-%d")
    try:
        day = form.now(context) - timedelta(days=read_offset(inputs.offset))
    except OverflowError:
        raise BlockFailed("`offset` is too large for a date.") from None
    yield "date", form.write(day, day.date().isoformat())


def read_offset(offset: int | str) -> int:
    try:
        return int(offset)
    except ValueError:
        return 0
