"""run_block and continue_run_block: schemas, refusals, reviews, and one charge whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import LedgerEntry
from durable.stop_signal import StopReason
from executions.models import Review
from executions.reviews.decisions import decide
from tests.tools.catalog.conftest import Caller
from tests.tools.conftest import Bench, call
from tools.models import ToolCall

COUNTER = "Word Character Count"
TEXT = {"text": "one two three"}


@pytest.mark.django_db
def test_without_inputs_it_tells_what_the_block_takes(caller: Caller) -> None:
    found = caller.call("run_block", block_id=COUNTER)
    assert (found["type"], found["block"]["required"]) == ("block_details", ["text"])
    assert found["input_schema"]["properties"]["text"]["type"] == "string"


@pytest.mark.django_db(transaction=True)
def test_a_block_runs_and_gives_its_outputs(bench: Bench) -> None:
    found = bench.run_one("run_block", block_id=COUNTER, input_data=TEXT).output
    assert (found["type"], found["outputs"]["word_count"]) == ("block_output", [3])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("block", "inputs", "kind", "words"),
    [
        (
            "Calculator",
            {"operation": "Add", "a": 1, "b": 2, "c": 3},
            "input_validation_error",
            "no input 'c'",
        ),
        ("Calculator", {"operation": "Add", "a": "one", "b": 2}, "input_validation_error", "expects number"),
        ("Agent Input", {"name": "x"}, "error", "only works inside an agent"),
        ("Agent Output", {"name": "x"}, "error", "only works inside an agent"),
        ("Agent Executor", {"graph_id": "x"}, "error", "only works inside an agent"),
        ("AutoPilot", {"prompt": "x"}, "error", "only works inside an agent"),
        ("Calculatr", {"a": 1}, "error", "Did you mean Calculator"),
        (
            "Send Email",
            {
                "to_email": "a@b.c",
                "subject": "s",
                "body": "b",
                "config": {"smtp_server": "m", "smtp_port": 1},
            },
            "setup_requirements",
            "missing: smtp",
        ),
    ],
    ids=["unknown field", "wrong type", "input", "output", "executor", "autopilot", "typo", "credentials"],
)
def test_what_cannot_run_says_why_and_nothing_is_charged(
    caller: Caller, block: str, inputs: dict[str, Any], kind: str, words: str
) -> None:
    found = caller.call("run_block", block_id=block, input_data=inputs)
    assert (found["type"], words in found["message"]) == (kind, True), found
    assert not LedgerEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_sensitive_block_waits_for_a_person_and_then_runs_once(bench: Bench) -> None:
    asked = bench.run(call("run_block", block_id="Print To Console", input_data={"text": "hi"}))[0].output
    assert asked["type"] == "review_required", asked
    waiting = bench.run(call("continue_run_block", id="c2", review_id=asked["review_id"]))[0].output
    assert waiting["error"] == "review_waiting"
    review = Review.objects.get(pk=asked["review_id"])
    assert review.session_id == bench.session_id
    decide(review, approved=True, by=bench.user)
    done = bench.run(call("continue_run_block", id="c3", review_id=asked["review_id"]))[0].output
    assert (done["type"], done["outputs"]["output"]) == ("block_output", ["hi"]), done


@pytest.mark.django_db(transaction=True)
def test_a_rejected_block_does_not_run_and_the_model_hears_why(bench: Bench) -> None:
    asked = bench.run(call("run_block", block_id="Print To Console", input_data={"text": "hi"}))[0].output
    decide(Review.objects.get(pk=asked["review_id"]), approved=False, message="Not today.", by=bench.user)
    found = bench.run(call("continue_run_block", id="c2", review_id=asked["review_id"]))[0].output
    assert (found["error"], "Not today." in found["message"]) == ("block_failed", True), found


@pytest.mark.django_db
@pytest.mark.parametrize("review_id", ["no uuid", "00000000-0000-4000-8000-000000000000"])
def test_a_review_that_is_not_there_says_so(caller: Caller, review_id: str) -> None:
    assert caller.call("continue_run_block", review_id=review_id)["error"] == "not_found"


# --- one charge, whatever happens -------------------------------------------------------------------

PRICE = Decimal("0.25")


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The word counter costs something."""
    from blocks.base import Cost
    from blocks.registry import get_registry

    block = get_registry().get_by_name(COUNTER)
    before = block.cost
    object.__setattr__(block, "cost", Cost(per_run=PRICE))
    yield
    object.__setattr__(block, "cost", before)


def charges() -> list[Decimal]:
    return list(LedgerEntry.objects.values_list("amount", flat=True))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("priced")
def test_a_run_is_charged_once_and_a_second_call_again(bench: Bench) -> None:
    bench.run(call("run_block", block_id=COUNTER, input_data=TEXT))
    assert charges() == [PRICE]
    bench.step += 1
    bench.run(call("run_block", block_id=COUNTER, input_data=TEXT))
    assert charges() == [PRICE, PRICE]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("priced")
@pytest.mark.parametrize("ran_before", [False, True], ids=["crashed before", "crashed after"])
def test_a_worker_that_died_leaves_one_charge(bench: Bench, ran_before: bool) -> None:
    request = call("run_block", block_id=COUNTER, input_data=TEXT)
    if ran_before:
        bench.run(request)
        ToolCall.objects.update(state=ToolCall.State.STARTED, result=None)
    else:
        bench.leave_in_doubt(request, effect="idempotent")  # type: ignore[arg-type]
    found = bench.run(request)[0].output
    assert found["outputs"]["word_count"] == [3]
    assert charges() == [PRICE]


@pytest.mark.django_db
@pytest.mark.usefixtures("priced")
def test_a_run_cancelled_between_work_and_charge_is_charged_once(caller: Caller) -> None:
    caller.stop.set(StopReason.CANCELLED)
    found = caller.call("run_block", key="k", block_id=COUNTER, input_data=TEXT)
    assert found["type"] == "error"
    again = Caller(caller.user)
    again.call("run_block", key="k", block_id=COUNTER, input_data=TEXT)
    assert charges() == [PRICE]
