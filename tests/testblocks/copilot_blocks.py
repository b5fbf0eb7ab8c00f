"""Blocks for tests of the engine: one that leaves a mark, one that takes its time, one that fails."""

from __future__ import annotations

import os
import time
from decimal import Decimal
from pathlib import Path

from blocks.base import Category, Cost, Effects, Emissions, Leaves, block, repeatable_by_key
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Integer, Number, Text, pin

MARKS = "COPILOT_TEST_MARKS"  # a folder; each mark is a file named by the key of its run


class MarkInputs(BlockInputs):
    value: JSON = pin(description="What to pass on.")
    seconds: Number = pin(0, description="How long to take before it.")


class ValueOutputs(BlockOutputs):
    value: JSON


def leave_mark(key: str) -> None:
    """One line per time it was done, so that a test sees what was done twice."""
    folder = os.environ.get(MARKS)
    if folder:
        with (Path(folder) / key).open("a") as file:
            file.write("done\n")


def is_marked(key: str) -> bool:
    folder = os.environ.get(MARKS)
    if folder is None or not (Path(folder) / key).exists():
        return False
    return (Path(folder) / key).stat().st_size > 0  # whoever was killed before it wrote has left an empty one


@block(
    id="7e570000-0000-4000-8000-000000000001",
    name="Test Mark",
    category=Category.BASIC,
    inputs=MarkInputs,
    outputs=ValueOutputs,
    examples=[
        Example(inputs={"value": 1}, outputs=[("value", 1)]),
        Example(inputs={}, error="needs the input"),
    ],
    effects=Effects.EFFECTFUL,
    reads_outside=False,
    leaves=Leaves.NOTHING,
    repeatable=repeatable_by_key,
    cost=Cost(per_run=Decimal("0.01")),
)
def test_mark(inputs: MarkInputs, context: BlockContext) -> Emissions:
    """Leaves a mark under the key of its run, once."""
    if inputs.seconds:
        time.sleep(float(inputs.seconds))
    if not is_marked(context.idempotency_key):
        leave_mark(context.idempotency_key)
    yield "value", inputs.value


@block(
    id="7e570000-0000-4000-8000-000000000002",
    name="Test Letter",
    category=Category.BASIC,
    inputs=MarkInputs,
    outputs=ValueOutputs,
    examples=[
        Example(inputs={"value": 1}, outputs=[("value", 1)]),
        Example(inputs={}, error="needs the input"),
    ],
    effects=Effects.EFFECTFUL,
    reads_outside=False,
    leaves=Leaves.NOTHING,
)
def test_letter(inputs: MarkInputs, context: BlockContext) -> Emissions:
    """Leaves a mark that nobody can look up: a second run would leave a second one."""
    leave_mark(context.idempotency_key)
    if inputs.seconds:
        time.sleep(float(inputs.seconds))
    yield "value", inputs.value


class SleepInputs(BlockInputs):
    value: JSON = pin(None, description="What to pass on.")
    seconds: Number = pin(0, description="How long.")
    deaf: Boolean = pin(False, description="Ignore the signal to stop.")
    hold: Text = pin("", description="A file: sleep until it is there.")


@block(
    id="7e570000-0000-4000-8000-000000000003",
    name="Test Sleep",
    category=Category.BASIC,
    inputs=SleepInputs,
    outputs=ValueOutputs,
    examples=[
        Example(inputs={"value": 1}, outputs=[("value", 1)]),
        Example(inputs={"seconds": "x"}, error="expects number"),
    ],
    effects=Effects.NETWORK,
    time_cap_seconds=60.0,
)
def test_sleep(inputs: SleepInputs, context: BlockContext) -> Emissions:
    """Takes its time."""
    end = time.monotonic() + float(inputs.seconds)
    while time.monotonic() < end or (inputs.hold and not Path(inputs.hold).exists()):
        if not inputs.deaf:
            context.check()
        time.sleep(0.005)
    yield "value", inputs.value


class DripInputs(BlockInputs):
    count: Integer = pin(3, description="How many.")
    seconds: Number = pin(0, description="How long between two.")
    fail_at: Integer = pin(-1, description="Fail before this one.")


class DripOutputs(BlockOutputs):
    item: Integer


@block(
    id="7e570000-0000-4000-8000-000000000004",
    name="Test Drip",
    category=Category.BASIC,
    inputs=DripInputs,
    outputs=DripOutputs,
    examples=[
        Example(inputs={"count": 2}, outputs=[("item", 0), ("item", 1)]),
        Example(inputs={"fail_at": 0}, error="no more"),
    ],
    effects=Effects.NETWORK,
    repeats=("item",),
)
def test_drip(inputs: DripInputs, context: BlockContext) -> Emissions:
    """Emits numbers one by one, slowly if told to."""
    for number in range(inputs.count):
        context.check()
        if number == inputs.fail_at:
            raise BlockFailed("There is no more.")
        yield "item", number
        if inputs.seconds:
            time.sleep(float(inputs.seconds))
