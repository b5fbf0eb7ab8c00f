"""Running one block: what leaves it, and how it fails."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from blocks.base import BlockType, Cost, Emissions
from blocks.context import BlockContext, Meter
from blocks.errors import (
    BlockCancelled,
    BlockCrashed,
    BlockFailed,
    BlockTimedOut,
    CredentialsMissing,
    InputError,
    OutputError,
    ParkedForReview,
)
from blocks.examples import World
from blocks.ports import PortError
from blocks.registry import get_registry
from blocks.run import run_block
from durable.errors import LeaseLost
from durable.stop_signal import StopSignal
from tests.blocks.doubles import make_context
from tests.blocks.sample import Inputs, make_block


def collect(emissions: Emissions) -> tuple[list[tuple[str, object]], BaseException | None]:
    """What came out, and what ended it."""
    outputs: list[tuple[str, object]] = []
    try:
        for output in emissions:
            outputs.append(output)
    except Exception as error:  # noqa: BLE001 - the test looks at whatever it was
        return outputs, error
    return outputs, None


def test_outputs_before_a_failure_stand() -> None:
    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        yield "out", 1
        raise BlockFailed("No more.")

    outputs, error = collect(run_block(make_block(run), {}, make_context()))
    assert outputs == [("out", 1)]
    assert isinstance(error, BlockFailed)
    assert str(error) == "No more."


def test_an_emission_on_error_is_a_failure_and_nothing_after_it_runs() -> None:
    reached: list[int] = []

    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        yield "out", 1
        yield "error", "It broke."
        reached.append(1)
        yield "out", 2

    outputs, error = collect(run_block(make_block(run), {}, make_context()))
    assert outputs == [("out", 1)]
    assert isinstance(error, BlockFailed)
    assert str(error) == "It broke."
    assert reached == []


def test_an_error_nobody_foresaw_ends_the_node_and_its_text_stays_in_the_log() -> None:
    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        yield "out", 1
        raise RuntimeError("password=hunter2")

    outputs, error = collect(run_block(make_block(run), {}, make_context()))
    assert outputs == [("out", 1)]
    assert isinstance(error, BlockCrashed)
    assert "RuntimeError" in str(error)
    assert "hunter2" not in str(error)


def test_a_block_that_is_no_generator_is_held_to_the_same_rules() -> None:
    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        if inputs.flag:
            raise RuntimeError("before the first output")
        return [("out", 1)]  # type: ignore[return-value]

    assert collect(run_block(make_block(run), {}, make_context())) == ([("out", 1)], None)
    _, error = collect(run_block(make_block(run), {"flag": True}, make_context()))
    assert isinstance(error, BlockCrashed)


def test_a_port_that_fails_fails_the_block_with_its_sentence() -> None:
    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        raise PortError("The file is gone.")
        yield "out", 1

    _, error = collect(run_block(make_block(run), {}, make_context()))
    assert isinstance(error, BlockFailed)
    assert str(error) == "The file is gone."


def test_what_concerns_the_job_passes_through() -> None:
    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        raise LeaseLost
        yield "out", 1

    _, error = collect(run_block(make_block(run), {}, make_context()))
    assert isinstance(error, LeaseLost)


def test_a_review_without_decision_parks_the_node() -> None:
    block = get_registry().get_by_name("Human In The Loop")
    _, error = collect(run_block(block, {"data": 1, "name": "x"}, make_context()))
    assert isinstance(error, ParkedForReview)
    assert error.review_id == "node-execution-1"


def test_wrong_inputs_are_refused_before_anything_runs() -> None:
    reached: list[int] = []

    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        reached.append(1)
        yield "out", 1

    with pytest.raises(InputError):
        run_block(make_block(run), {"number": "x"}, make_context())
    assert reached == []


def test_an_undeclared_output_of_a_standard_block_is_refused() -> None:
    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        yield "surprise", 1

    _, error = collect(run_block(make_block(run), {}, make_context()))
    assert isinstance(error, OutputError)


def test_outputs_of_other_kinds_of_blocks_are_not_checked_by_type() -> None:
    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        yield "number", "text"

    outputs, error = collect(run_block(make_block(run, type=BlockType.OUTPUT), {}, make_context()))
    assert (outputs, error) == ([("number", "text")], None)


def test_a_cancelled_run_stops_at_its_next_output() -> None:
    flag = StopSignal()

    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        yield "out", 1
        flag.set()
        yield "out", 2
        yield "out", 3

    outputs, error = collect(run_block(make_block(run), {}, make_context(cancel=flag)))
    assert outputs == [("out", 1), ("out", 2)]
    assert isinstance(error, BlockCancelled)


def test_a_run_past_its_deadline_is_stopped() -> None:
    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        yield "out", 1

    outputs, error = collect(run_block(make_block(run), {}, make_context(deadline=time.monotonic() - 1)))
    assert outputs == []
    assert isinstance(error, BlockTimedOut)


def test_closing_the_run_closes_the_block() -> None:
    closed: list[int] = []

    def run(inputs: Inputs, context: BlockContext) -> Emissions:
        try:
            yield "out", 1
            yield "out", 2
        finally:
            closed.append(1)

    emissions = run_block(make_block(run), {}, make_context())
    next(emissions)
    emissions.close()  # type: ignore[attr-defined]
    assert closed == [1]


def test_missing_credentials_are_told_by_provider() -> None:
    block = get_registry().get_by_name("Send Email")
    values = {"to_email": "a@b.c", "subject": "s", "body": "b", "config": {"smtp_server": "smtp.example.com"}}
    _, error = collect(run_block(block, values, make_context()))
    assert isinstance(error, CredentialsMissing)
    assert error.provider == "smtp"


def test_a_cost_is_the_sum_of_its_parts() -> None:
    from decimal import Decimal

    meter = Meter()
    meter.add(items=3, tokens=100, model_cost=Decimal("0.5"))
    cost = Cost(
        per_run=Decimal("1"), per_second=Decimal("0.1"), per_item=Decimal("0.01"), per_token=Decimal("0.001")
    )
    assert cost.total(meter, seconds=2.0) == Decimal("1.83")
    assert Cost().total(Meter(), seconds=-5) == 0
    assert not Cost()
    assert cost


def test_model_tokens_are_metered() -> None:
    block = get_registry().get_by_name("AI Text Generator")
    context = make_context(World(replies=["Hello"]))
    list(run_block(block, {"prompt": "Hi"}, context))
    assert context.meter.tokens == 15
    assert context.meter.model_cost > 0


def test_waiting_ends_early_when_the_run_is_cancelled() -> None:
    block = get_registry().get_by_name("Countdown Timer")
    context = make_context()
    flag = StopSignal()
    flag.set()
    _, error = collect(run_block(block, {"days": 1}, replace(context, cancel=flag)))
    assert isinstance(error, BlockCancelled)
