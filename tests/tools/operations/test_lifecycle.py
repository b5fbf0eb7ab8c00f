"""An operation from its start in a tool call to its one end and its one continuation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from chat import sessions
from chat.models import Session, Turn
from durable import jobs
from durable.cancellation import CancelAnswer
from durable.errors import HandOver, LeaseLost
from durable.runtime import runtime
from durable.stop_signal import StopReason
from tests.testtools.copilot_tools import FOREIGN_FILE
from tests.tools.conftest import Bench, call, eventually
from tests.tools.operations.conftest import run
from tools.errors import UnknownOperation
from tools.models import Operation, ToolCall
from tools.operations import cancellation, runner
from tools.operations.completion import complete
from tools.operations.lifecycle import operation_changed
from tools.operations.start import shown_later

Started = Callable[..., Operation]
pytestmark = pytest.mark.django_db(transaction=True)


def continuations(session: Session) -> list[Turn]:
    return list(session.turns.filter(kind=Turn.Kind.CONTINUATION))


# --- start ------------------------------------------------------------------------------------------


def test_a_long_running_call_is_answered_at_once_and_leaves_an_operation(bench: Bench) -> None:
    finished = bench.run_one("test_operation", seconds=500, note="x")
    operation = Operation.objects.get()
    assert finished.output["type"] == "operation_started"
    assert finished.output["operation_id"] == str(operation.pk)
    assert finished.output["task_id"] == str(operation.task_id)
    assert finished.output["tool_name"] == "test_operation"
    assert finished.output["status"] == "pending", "a reload shows that it is not done"
    assert bench.row("c1").result == finished.output
    assert (operation.status, operation.arguments["note"]) == ("queued", "x")


def test_the_answer_and_the_operation_are_one_transaction(bench: Bench) -> None:
    bench.journal.lost = True
    with pytest.raises(LeaseLost):
        bench.run_one("test_operation")
    assert not Operation.objects.exists()
    assert not ToolCall.objects.exists()


def test_the_same_call_after_a_crash_is_the_same_operation(bench: Bench) -> None:
    first = bench.run_one("test_operation")
    bench.attempt = 2
    assert bench.run_one("test_operation").output == first.output
    assert Operation.objects.count() == 1


def test_the_same_thing_asked_again_while_it_runs_is_in_progress(bench: Bench) -> None:
    first, second = bench.run(
        call("test_operation", id="a", note="n"), call("test_operation", id="b", note="n")
    )
    assert second.output["type"] == "operation_in_progress"
    assert second.output["operation_id"] == first.output["operation_id"]
    other = bench.run(call("test_operation", id="c", note="other"))[0]
    assert other.output["type"] == "operation_started"


def test_after_it_ended_the_same_may_be_asked_again(bench: Bench, started: Started) -> None:
    run(started(note="n"))
    bench.step = 1
    assert bench.run_one("test_operation", note="n").output["type"] == "operation_started"


def test_bad_arguments_start_nothing(bench: Bench) -> None:
    assert bench.run_one("test_operation", seconds="soon").output["error"] == "invalid_arguments"
    assert not Operation.objects.exists()


# --- run --------------------------------------------------------------------------------------------


def test_its_result_takes_the_place_of_the_pending_one(
    bench: Bench, started: Started, session: Session
) -> None:
    operation = run(started(note="fruit"))
    assert (operation.status, operation.end_reason, operation.progress) == ("completed", "done", 1.0)
    row = bench.row("c1")
    assert row.result is not None
    assert row.result["value"] == "fruit"
    assert row.result["operation_id"] == str(operation.pk)
    assert row.state == ToolCall.State.SUCCEEDED
    [turn] = continuations(session)
    assert (turn.status, turn.client_id) == ("queued", f"operation:{operation.pk}")
    assert str(operation.pk) in turn.note and "completed" in turn.note
    assert not turn.messages.exists()


def test_a_failure_is_told_and_continues_too(bench: Bench, started: Started, session: Session) -> None:
    operation = run(started(fail=True))
    assert (operation.status, operation.error) == ("failed", "It could not be done.")
    assert bench.row("c1").error == "It could not be done."
    [turn] = continuations(session)
    assert "failed" in turn.note


def test_progress_is_written_down_and_told(started: Started, session: Session) -> None:
    heard: list[tuple[str, float, str]] = []

    def hear(sender: Any, operation: Operation, **kwargs: Any) -> None:
        heard.append((operation.status, operation.progress, operation.message))

    operation_changed.connect(hear)
    try:
        run(started(seconds=0.7))
    finally:
        operation_changed.disconnect(hear)
    assert heard[0][0] == "queued"
    assert any(status == "running" and "seconds gone" in message for status, _, message in heard)
    assert heard[-1][:2] == ("completed", 1.0)


def test_a_tool_that_is_gone_fails_the_operation(started: Started) -> None:
    operation = started()
    Operation.objects.filter(pk=operation.pk).update(tool_name="no_such_tool")
    assert run(operation).end_reason == "unknown_tool"


def test_a_second_poke_does_nothing(started: Started, session: Session) -> None:
    operation = run(run(started()))
    assert (operation.attempt, len(continuations(session))) == (1, 1)


# --- crashes ----------------------------------------------------------------------------------------


def left_by_a_dead_worker(operation: Operation, *, begun: bool) -> None:
    lease = jobs.claim(Operation, operation.pk, owner="dead")
    assert lease is not None
    Operation.objects.filter(pk=operation.pk).update(
        begun=begun, lease_until=timezone.now() - timedelta(seconds=1)
    )


def test_an_idempotent_operation_is_run_again_after_a_crash(started: Started, session: Session) -> None:
    operation = started(note="again")
    left_by_a_dead_worker(operation, begun=True)
    assert run(operation).status == "completed"
    assert operation.attempt == 2
    assert len(continuations(session)) == 1


def test_a_foreign_operation_in_doubt_is_not_repeated(
    started: Started, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOREIGN_FILE, str(tmp_path / "effects"))
    operation = started("test_foreign_operation")
    left_by_a_dead_worker(operation, begun=True)
    assert (run(operation).status, operation.end_reason) == ("failed", "interrupted")
    assert operation.answer()["may_have_happened"] is True
    assert not (tmp_path / "effects").exists()


def test_a_foreign_operation_that_had_not_begun_is_run(started: Started) -> None:
    operation = started("test_foreign_operation")
    left_by_a_dead_worker(operation, begun=False)
    assert run(operation).status == "completed"


def test_an_operation_that_kills_every_worker_is_given_up_and_told(
    started: Started, session: Session
) -> None:
    operation = started()
    left_by_a_dead_worker(operation, begun=True)
    Operation.objects.filter(pk=operation.pk).update(crashes=100)
    jobs.sweep(Operation)
    operation.refresh_from_db()
    assert (operation.status, operation.end_reason) == ("failed", "worker_lost")
    assert "worker died" in operation.error
    assert len(continuations(session)) == 1


def test_a_worker_that_shuts_down_hands_the_operation_over(
    started: Started, in_background: Callable[[Callable[[], Any]], threading.Thread]
) -> None:
    operation = started(seconds=60)
    lease = jobs.claim(Operation, operation.pk, owner="leaving")
    assert lease is not None
    threading.Timer(0.2, lease.stop.set, [StopReason.HAND_OVER]).start()
    with pytest.raises(HandOver):
        runner.run(lease)
    lease.hand_over()
    operation.refresh_from_db()
    assert (operation.status, operation.owner) == ("running", "")


def test_history_and_status_show_a_running_operation_as_pending(bench: Bench, started: Started) -> None:
    operation = started()
    row = bench.row("c1")
    assert row.result is not None and row.result["type"] == "operation_started"
    shown = shown_later(row)
    assert (shown["type"], shown["operation_id"]) == ("operation_pending", str(operation.pk))
    [status] = bench.run(call("check_operation_status", id="ask", operation_id=f" {operation.pk} "))
    assert (status.output["status"], status.output["result"]["type"]) == ("running", "operation_pending")
    run(operation)
    assert shown_later(bench.row("c1"))["type"] == "test_value"
    bench.step += 1
    [status] = bench.run(call("check_operation_status", id="ask", operation_id=str(operation.pk)))
    assert (status.output["status"], status.output["result"]["type"]) == ("completed", "test_value")


# --- from outside -----------------------------------------------------------------------------------


def test_an_operation_accepted_elsewhere_waits_for_its_answer(
    bench: Bench, started: Started, session: Session
) -> None:
    operation = run(started(accepted=True))
    assert (operation.status, operation.external, operation.message) == (
        "waiting",
        True,
        "The test service has it.",
    )
    assert continuations(session) == []
    shown = bench.row("c1").result
    assert shown is not None
    assert (shown["type"], shown["status"]) == ("operation_started", "accepted")
    assert (shown["operation_id"], shown["task_id"]) == (str(operation.pk), str(operation.task_id))
    [again] = bench.run(call("test_operation", id="again", accepted=True))
    assert (again.output["type"], again.output["status"]) == ("operation_in_progress", "accepted")
    taken = complete(task_id=operation.task_id, success=True, result={"made": 3}, by="stream")
    assert taken.effect
    operation.refresh_from_db()
    assert (operation.status, operation.result, operation.completed_by) == (
        "completed",
        {"made": 3},
        "stream",
    )
    replaced = bench.row("c1").result
    assert replaced is not None and replaced["made"] == 3
    assert len(continuations(session)) == 1


def test_ten_answers_at_once_have_one_effect(
    started: Started,
    session: Session,
    in_background: Callable[[Callable[[], Any]], threading.Thread],
) -> None:
    operation = run(started(accepted=True))
    effects: list[bool] = []

    def answer(number: int) -> None:
        success = number % 2 == 0
        effects.append(
            complete(
                operation_id=operation.pk, success=success, result=number, error="e", by="webhook"
            ).effect
        )

    threads = [in_background(partial(answer, number)) for number in range(10)]
    for thread in threads:
        thread.join(30)
    assert sorted(effects) == [False] * 9 + [True]
    assert len(continuations(session)) == 1


def test_an_answer_before_the_tool_has_returned_stands(
    started: Started, session: Session, in_background: Callable[[Callable[[], Any]], threading.Thread]
) -> None:
    operation = started(seconds=30, accepted=True)
    thread = in_background(lambda: run(operation))
    eventually(lambda: Operation.objects.get(pk=operation.pk).begun)
    assert complete(operation_id=operation.pk, success=True, by="webhook").effect
    thread.join(20)
    operation.refresh_from_db()
    assert (operation.status, operation.result) == ("completed", {"status": "completed"})
    assert len(continuations(session)) == 1


def test_a_late_answer_to_an_ended_operation_changes_nothing(started: Started, session: Session) -> None:
    operation = run(started(note="mine"))
    assert not complete(operation_id=operation.pk, success=False, error="late", by="webhook").effect
    operation.refresh_from_db()
    assert (operation.status, operation.error) == ("completed", "")


def test_an_answer_for_nothing_is_an_error(db: None) -> None:
    for wrong in ({"operation_id": "x"}, {"task_id": "0" * 32}, {}):
        with pytest.raises(UnknownOperation):
            complete(success=True, by="stream", **wrong)


def test_secrets_in_an_outside_answer_are_blotted_out(started: Started) -> None:
    operation = run(started(accepted=True))
    complete(operation_id=operation.pk, success=True, result={"api_key": "sk-" + "a" * 40}, by="stream")
    operation.refresh_from_db()
    assert "aaaa" not in str(operation.result)


def test_an_outside_service_that_never_answers_fails_in_the_end(started: Started, session: Session) -> None:
    operation = run(started(accepted=True))
    past = timezone.now() - timedelta(seconds=1)
    Operation.objects.filter(pk=operation.pk).update(run_at=past, answer_due_at=past)
    assert (run(operation).status, operation.end_reason) == ("failed", "timed_out")
    assert len(continuations(session)) == 1


def test_a_worker_that_died_on_the_way_to_wait_is_made_up_for(started: Started) -> None:
    operation = run(started(accepted=True))
    past = timezone.now() - timedelta(seconds=1)
    Operation.objects.filter(pk=operation.pk).update(
        status="running", owner="dead", lease_until=past, run_at=None
    )
    assert run(operation).status == "waiting"


# --- stop -------------------------------------------------------------------------------------------


def test_a_queued_or_waiting_operation_is_cancelled_at_once_without_a_turn(
    bench: Bench, started: Started, session: Session
) -> None:
    for operation in (started(id="c1"), run(started(id="c2", accepted=True))):
        assert cancellation.cancel(operation.pk).cancelled
        assert cancellation.cancel(operation.pk) == CancelAnswer(cancelled=True, reason="already_cancelled")
    assert bench.row("c1").state == ToolCall.State.CANCELLED
    assert bench.row("c1").error == "The operation was cancelled."
    assert continuations(session) == []


def test_a_running_operation_is_cancelled(
    started: Started, in_background: Callable[[Callable[[], Any]], threading.Thread]
) -> None:
    operation = started(seconds=60)
    thread = in_background(lambda: run(operation))
    eventually(lambda: Operation.objects.get(pk=operation.pk).begun)
    assert cancellation.cancel(operation.pk).cancelled
    thread.join(20)


def test_cancelling_what_has_ended_is_truthful(started: Started) -> None:
    operation = run(started())
    assert cancellation.cancel(operation.pk) == CancelAnswer(cancelled=False, reason="already_ended")


def test_a_deleted_session_takes_its_tool_calls_and_operations_along(
    started: Started, session: Session
) -> None:
    ended, live = run(started(id="c1")), started(id="c2", note="live")
    kept = Bench(user=session.user)
    kept.run_one("test_pure")
    sessions.delete(session)
    assert not Operation.objects.exists()
    assert list(ToolCall.objects.values_list("session_id", flat=True)) == [kept.session_id]
    for gone in (ended, live):
        run_again(gone)  # nobody minds


def run_again(operation: Operation) -> None:
    """A poke that came too late."""
    runtime().run(Operation, operation.pk, runner.run)


def test_an_operation_whose_session_is_gone_still_ends(started: Started, session: Session) -> None:
    operation = started()
    session.delete()
    assert run(operation).status == "completed"


def test_an_operation_survives_a_continuation_that_is_there_already(
    started: Started, session: Session
) -> None:
    operation = started()
    Turn.objects.create(session=session, status="completed", client_id=f"operation:{operation.pk}")
    assert run(operation).status == "completed"
    assert session.turns.count() == 1


# --- asking -----------------------------------------------------------------------------------------


def test_check_operation_status_tells_how_far_it_is(bench: Bench, started: Started) -> None:
    operation = started(note="n")
    bench.step = 1
    shown = bench.run_one("check_operation_status", operation_id=str(operation.pk)).output
    assert (shown["type"], shown["status"]) == ("operation_status", "running")
    run(operation)
    bench.step = 2
    shown = bench.run_one("check_operation_status", task_id=str(operation.task_id)).output
    assert (shown["status"], shown["result"]["value"]) == ("completed", "n")


def test_check_operation_status_does_not_know_another_persons(bench: Bench, started: Started) -> None:
    operation = started()
    stranger = Bench(user=User.objects.create(username="stranger"))
    shown = stranger.run_one("check_operation_status", operation_id=str(operation.pk)).output
    assert shown["error"] == "unknown_operation" and "conversation" in shown["next_step"]
    assert bench.run(call("check_operation_status", id="z"))[0].output["error"] == "try_again"
