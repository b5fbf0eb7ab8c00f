"""A tool that makes its result of what an outside service answered: kept first, then done by a worker, once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from chat.models import Session, Turn
from durable import jobs
from tests.testtools.copilot_tools import FOREIGN_FILE
from tests.testtools.models import TestEffect
from tests.tools.conftest import Bench, Done, NoArgs, eventually
from tests.tools.operations.conftest import run
from tools.base import OutsideAnswer, tool
from tools.context import ToolContext
from tools.errors import BadTool
from tools.models import Operation, ToolCall
from tools.operations import cancellation
from tools.operations.completion import CompletionResult, complete

Started = Callable[..., Operation]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def handed_over(started: Started) -> Operation:
    return run(started("test_handed_over", note="jam"))


def answer(operation: Operation, result: Any = None, *, by: str = "webhook", **more: Any) -> CompletionResult:
    given: dict[str, Any] = {"success": True, "result": {"made": 3} if result is None else result} | more
    taken = complete(operation_id=operation.pk, by=by, **given)
    operation.refresh_from_db()
    return taken


def continuations(session: Session) -> int:
    return session.turns.filter(kind=Turn.Kind.CONTINUATION).count()


def test_the_answer_is_kept_and_the_operation_goes_back_to_the_queue(
    handed_over: Operation, session: Session
) -> None:
    assert answer(handed_over).effect
    assert (handed_over.status, handed_over.completed_by) == ("queued", "webhook")
    assert handed_over.outside_answer["result"] == {"made": 3}  # type: ignore[index]
    assert continuations(session) == 0
    assert handed_over in jobs.claimable(Operation)


def test_its_worker_makes_the_tools_own_result_of_it(
    bench: Bench, handed_over: Operation, session: Session
) -> None:
    answer(handed_over)
    run(handed_over)
    assert (handed_over.status, handed_over.completed_by) == ("completed", "webhook")
    assert handed_over.result["value"] == "jam: 3"  # type: ignore[index]
    assert handed_over.outside_answer is None, "it may hold anything, and has done its work"
    row = bench.row("c1")
    assert row.result is not None
    assert (row.state, row.result["message"]) == (ToolCall.State.SUCCEEDED, "Made of what came back.")
    assert TestEffect.objects.get().note == "jam: 3"
    assert continuations(session) == 1


def test_five_answers_over_both_channels_are_one_effect(handed_over: Operation, session: Session) -> None:
    effects = [answer(handed_over, {"made": number}, by=by).effect for number, by in enumerate("wswsw")]
    run(handed_over)
    effects.append(answer(handed_over, {"made": 9}).effect)
    assert effects == [True] + [False] * 5
    assert TestEffect.objects.get().note == "jam: 0"
    assert continuations(session) == 1


def test_a_worker_that_died_while_it_made_the_result_is_made_up_for(
    handed_over: Operation, session: Session
) -> None:
    answer(handed_over)
    die_in_the_middle(handed_over)
    assert run(handed_over).status == "completed"
    assert (TestEffect.objects.count(), continuations(session)) == (1, 1)


def die_in_the_middle(operation: Operation) -> None:
    assert jobs.claim(Operation, operation.pk, owner="dead") is not None
    past = timezone.now() - timedelta(seconds=1)
    Operation.objects.filter(pk=operation.pk).update(begun=True, lease_until=past)


def test_one_with_a_foreign_effect_is_run_once_and_not_repeated_when_in_doubt(
    started: Started, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOREIGN_FILE, str(tmp_path / "effects"))
    whole = run(started("test_foreign_handed_over", id="a", note="whole"))
    answer(whole)
    assert run(whole).status == "completed", "that it was handed over is no doubt about what comes after"
    cut = run(started("test_foreign_handed_over", id="b", note="cut"))
    answer(cut)
    die_in_the_middle(cut)
    assert (run(cut).status, cut.end_reason) == ("failed", "interrupted")
    assert (tmp_path / "effects").read_text().count("\n") == 1


def test_nonsense_is_told_like_any_tools_error(
    bench: Bench, handed_over: Operation, session: Session
) -> None:
    answer(handed_over, {"api_key": "sk-" + "a" * 40})
    assert (run(handed_over).status, handed_over.end_reason) == ("failed", "bad_answer")
    assert handed_over.error == "The service answered nonsense."
    assert bench.row("c1").state == ToolCall.State.FAILED
    assert continuations(session) == 1
    assert not TestEffect.objects.exists()


def test_a_failure_reaches_the_tool_which_passes_it_on(handed_over: Operation) -> None:
    answer(handed_over, success=False, error="Out of paper.")
    assert (run(handed_over).status, handed_over.error) == ("failed", "Out of paper.")


def test_a_service_that_never_answers_reaches_the_tool_too(handed_over: Operation, session: Session) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Operation.objects.filter(pk=handed_over.pk).update(run_at=past, answer_due_at=past)
    assert (run(handed_over).status, handed_over.end_reason) == ("failed", "timed_out")
    assert not answer(handed_over).effect
    assert continuations(session) == 1


def test_an_answer_before_the_tool_has_handed_over_stands(
    started: Started, session: Session, in_background: Callable[[Callable[[], Any]], threading.Thread]
) -> None:
    operation = started("test_handed_over", note="early", seconds=30)
    thread = in_background(lambda: run(operation))
    eventually(lambda: Operation.objects.get(pk=operation.pk).begun)
    assert answer(operation).effect
    thread.join(120)
    assert not thread.is_alive(), "its worker was not fenced"
    run(operation)
    assert (operation.status, TestEffect.objects.get().note) == ("completed", "early: 3")
    assert continuations(session) == 1


def test_it_can_be_cancelled_with_the_answer_in_hand(handed_over: Operation, session: Session) -> None:
    answer(handed_over)
    assert cancellation.cancel(handed_over.pk).cancelled
    run(handed_over)
    assert (handed_over.status, TestEffect.objects.exists(), continuations(session)) == (
        "cancelled",
        False,
        0,
    )


def test_the_tool_gets_the_whole_answer_and_nobody_else_sees_it(
    handed_over: Operation, user: User, session: Session
) -> None:
    long = "x" * 50_000 + "\0\ud800"
    answer(handed_over, {"made": long, "token": "canary"})
    kept = handed_over.outside_answer["result"]  # type: ignore[index]
    assert kept == {"made": "x" * 50_000 + "\ufffd\ufffd", "token": "canary"}
    owner = Client()
    owner.force_login(user)
    assert b"canary" not in owner.get(f"/api/operations/{handed_over.pk}").content
    operator = Client()
    operator.force_login(User.objects.create_superuser("root"))
    assert b"canary" not in operator.get(f"/admin/tools/operation/{handed_over.pk}/change/").content
    run(handed_over)
    assert len(TestEffect.objects.get().note) > 50_000
    assert len(str(handed_over.result)) < 20_000, "what the model sees is cut as ever"


def test_a_tool_that_no_longer_receives_fails_visibly(handed_over: Operation) -> None:
    answer(handed_over)
    Operation.objects.filter(pk=handed_over.pk).update(
        tool_name="test_operation", arguments={"note": "renamed"}
    )
    assert run(handed_over).status == "failed"
    assert "no longer accepts answers" in handed_over.error


def test_work_that_came_back_cannot_be_handed_over_again(started: Started) -> None:
    operation = run(started("test_handed_over", again=True))
    answer(operation)
    assert run(operation).status == "failed"
    assert "handed over work that an outside service had already answered" in operation.error


def test_only_a_long_running_tool_can_receive() -> None:
    def receive(args: NoArgs, answer: OutsideAnswer, context: ToolContext) -> Done:
        return Done()

    def short(args: NoArgs, context: ToolContext) -> Done:
        """Quick."""
        return Done()

    with pytest.raises(BadTool, match="long-running"):
        tool(receive=receive)(short)


def test_an_answer_says_why_there_is_no_result() -> None:
    assert OutsideAnswer(success=True, result=[1]).unwrap() == [1]
    kept = OutsideAnswer(success=False, error="Why.").as_json()
    with pytest.raises(Exception, match=r"Why\."):
        OutsideAnswer.parse(kept).unwrap()
    with pytest.raises(Exception, match="without a reason"):
        OutsideAnswer(success=False).unwrap()
    with pytest.raises(Exception, match="not answer in time"):
        OutsideAnswer(success=False, late=True).unwrap()
