"""Rules for tools: calls that run, that a person decides first, and that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from chat.models import Turn
from durable.stop_signal import StopReason
from executions.errors import AlreadyDecided, NothingToRemember
from executions.models import Review
from executions.reviews.decisions import decide
from tests.tools.conftest import Bench, call
from tests.tools.operations.conftest import run
from tools.base import Rule
from tools.models import Operation, ToolCall, ToolPolicy
from tools.operations.cancellation import stop
from tools.policies import set_rule

pytestmark = pytest.mark.django_db(transaction=True)
TOOL = "add_understanding"


@pytest.fixture
def asked(bench: Bench) -> Review:
    """A call that waits for the person."""
    assert bench.user is not None
    set_rule(TOOL, Rule.ASK, user_id=bench.user.pk)
    return ask(bench)


def ask(bench: Bench, id: str = "c1") -> Review:
    [finished] = bench.run(call(TOOL, id=id, notes=["Likes tea."]))
    assert finished.output["type"] == "review_required", finished.output
    return Review.objects.get(pk=finished.output["review_id"])


def knows(bench: Bench) -> bool:
    return ToolCall.objects.filter(
        session_id=bench.session_id, result__has_key="current_understanding"
    ).exists()


def test_a_call_that_asks_waits_without_a_worker_and_shows_its_arguments(bench: Bench, asked: Review) -> None:
    operation = Operation.objects.get()
    assert (operation.status, operation.owner, operation.begun) == (Operation.WAITING, "", False)
    assert (asked.data, asked.tool_name, asked.editable) == ({"notes": ["Likes tea."]}, TOOL, False)
    assert asked.expires_at is not None
    assert not knows(bench)


def test_an_approved_call_runs_once_and_its_result_takes_the_place_of_the_question(
    bench: Bench, asked: Review
) -> None:
    decide(asked, approved=True, by=bench.user)
    operation = Operation.objects.get()
    assert operation.status == Operation.QUEUED
    assert run(operation).status == Operation.COMPLETED, operation.error
    assert (bench.row("c1").result or {})["current_understanding"] == {"notes": ["Likes tea."]}
    assert Turn.objects.filter(kind=Turn.Kind.CONTINUATION).count() == 1
    with pytest.raises(AlreadyDecided):
        decide(asked, approved=True, by=bench.user)
    run(operation)
    assert Turn.objects.filter(kind=Turn.Kind.CONTINUATION).count() == 1


def test_a_rejected_call_never_runs_and_the_conversation_hears_why(bench: Bench, asked: Review) -> None:
    decide(asked, approved=False, message="Not tea.", by=bench.user)
    operation = Operation.objects.get()
    assert (operation.status, operation.end_reason) == (Operation.FAILED, "not_approved")
    assert "Not tea." in bench.row("c1").error
    assert Turn.objects.filter(kind=Turn.Kind.CONTINUATION).count() == 1
    assert not knows(bench)


def test_the_same_call_after_a_crash_asks_once(bench: Bench, asked: Review) -> None:
    [again] = bench.run(call(TOOL, id="c1", notes=["Likes tea."]))
    assert again.output["review_id"] == str(asked.pk)
    assert (Review.objects.count(), Operation.objects.count()) == (1, 1)


@pytest.mark.parametrize(("remember", "elsewhere"), [("session", Rule.ASK), ("always", Rule.ALLOW)])
def test_a_remembered_approval_asks_no_more_here_or_anywhere(
    bench: Bench, asked: Review, remember: str, elsewhere: Rule
) -> None:
    decide(asked, approved=True, remember=remember, by=bench.user)
    [finished] = bench.run(call(TOOL, id="c2", notes=["Likes milk."]))
    assert finished.output["type"] != "review_required"
    other = Bench(user=bench.user)
    [finished] = other.run(call(TOOL, id="c3", notes=["Likes sugar."]))
    assert (finished.output["type"] == "review_required") == (elsewhere is Rule.ASK)


def test_a_rejection_can_be_remembered_too(bench: Bench, asked: Review) -> None:
    decide(asked, approved=False, remember="always", by=bench.user)
    [finished] = bench.run(call(TOOL, id="c2", notes=["x"]))
    assert finished.output["error"] == "not_permitted"


def test_what_is_not_about_a_tool_is_remembered_for_nothing(bench: Bench) -> None:
    assert bench.user is not None
    review = Review.objects.create(user=bench.user, key="k", name="A graph asks", data={})
    with pytest.raises(NothingToRemember):
        decide(review, approved=True, remember="always", by=bench.user)
    review.refresh_from_db()
    assert review.state == Review.State.WAITING


def test_a_denied_tool_is_refused_and_no_rule_of_the_person_or_session_lifts_the_site_s(bench: Bench) -> None:
    assert bench.user is not None
    set_rule(TOOL, Rule.DENY, user_id=None)
    set_rule(TOOL, Rule.ALLOW, user_id=bench.user.pk)
    set_rule(TOOL, Rule.ALLOW, user_id=bench.user.pk, session_id=bench.session_id)
    finished = bench.run_one(TOOL, notes=["x"])
    assert finished.output["error"] == "not_permitted"
    assert not Operation.objects.exists()


def test_a_rule_of_the_site_asks_everybody_until_they_say_always(bench: Bench) -> None:
    set_rule(TOOL, Rule.ASK, user_id=None)
    decide(ask(bench), approved=True, remember="always", by=bench.user)
    assert bench.run(call(TOOL, id="c2", notes=["x"]))[0].output["type"] != "review_required"
    assert ToolPolicy.objects.filter(user=None).get().rule == Rule.ASK


def test_a_visitor_cannot_approve_so_nothing_is_asked(db: None) -> None:
    set_rule("find_agent", Rule.ASK, user_id=None)
    [finished] = Bench(user=None).run(call("find_agent", query="x"))
    assert finished.output["error"] == "not_permitted"
    assert not Review.objects.exists()


def test_stopping_what_waits_takes_the_question_back(bench: Bench, asked: Review) -> None:
    operation = Operation.objects.get()
    assert stop(operation.pk)
    operation.refresh_from_db()
    asked.refresh_from_db()
    assert (operation.status, asked.state) == (Operation.CANCELLED, Review.State.WITHDRAWN)


def test_a_worker_killed_in_an_approved_foreign_call_does_not_repeat_it(bench: Bench) -> None:
    assert bench.user is not None
    set_rule("test_foreign_effect", Rule.ASK, user_id=bench.user.pk)
    finished = bench.run_one("test_foreign_effect", note="x")
    decide(Review.objects.get(pk=finished.output["review_id"]), approved=True, by=bench.user)
    Operation.objects.update(begun=True)  # as its worker leaves it
    operation = run(Operation.objects.get())
    assert (operation.status, operation.end_reason) == (Operation.FAILED, "interrupted")


def test_a_stopped_turn_asks_nobody(bench: Bench) -> None:
    assert bench.user is not None
    set_rule(TOOL, Rule.ASK, user_id=bench.user.pk)
    bench.stop.set(StopReason.CANCELLED)
    finished: Any = bench.run_one(TOOL, notes=["x"])
    assert finished.output["error"] == "cancelled"
    assert not Review.objects.exists()
