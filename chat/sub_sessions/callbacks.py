"""Callbacks when long work ends: queue a turn in the session, or wake the agent, that waits for it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from chat.continuations import queue_turn
from chat.models import Session, Turn
from chat.outside_content import mark
from chat.signals import turn_ended
from chat.sub_sessions import names
from chat.sub_sessions.outcome import newest_task, progress_of, report_on
from durable import cancellation, jobs
from durable.database import after_commit
from executions.models import Execution, Review
from executions.signals import execution_ended, review_decided
from executions.wait import wake
from tools import output
from tools.catalog.sub_sessions import status_of
from tools.models import Operation, ToolCall
from tools.operations.lifecycle import operation_ended


def connect() -> None:
    """Connect the signal handlers; called once when Django is set up."""
    turn_ended.connect(after_turn, dispatch_uid="chat.after_turn")
    operation_ended.connect(after_operation, dispatch_uid="chat.after_operation")
    execution_ended.connect(after_execution, dispatch_uid="chat.after_execution")
    review_decided.connect(after_review, dispatch_uid="chat.after_review")


# --- signal handlers ------------------------------------------------------------------------------


def after_turn(sender: Any, turn: Turn, **kwargs: Any) -> None:
    """Call back the sessions and agents that wait for a task, if this turn ends one.

    Only a task's own turn and its continuations can do that; all other turns cost nothing here.
    """
    if turn.kind != Turn.Kind.CONTINUATION and not (turn.client_id or "").startswith(names.TASK):
        return
    call_back_if_over(turn.session_id)
    for execution_id in waiting_executions(turn.session_id):
        wake(execution_id)


def after_operation(sender: Any, operation: Operation, **kwargs: Any) -> None:
    """End the task of a cancelled operation, which gets no continuation turn."""
    if operation.status == Operation.CANCELLED:
        call_back_if_over(operation.session_id)


def after_execution(sender: Any, execution: Execution, **kwargs: Any) -> None:
    """Stop the turns the execution waited for, and queue a turn in the session that wants its result."""
    for turn_id in Turn.live().filter(execution_id=execution.pk).values_list("pk", flat=True):
        if jobs.request_cancel(Turn, turn_id):
            after_commit(cancellation.broadcast, turn_id)
    if not (execution.tell_session and execution.session_id):
        return
    if execution.status == Execution.CANCELLED:
        call_back_if_over(execution.session_id)  # no turn about the cancelled execution itself
        return
    queue_turn(
        execution.session_id,
        client_id=f"{names.EXECUTION_CAME_BACK}{execution.pk}",
        note=execution_note(execution),
    )


def after_review(sender: Any, review: Review, **kwargs: Any) -> None:
    """Queue a turn for the task that asked; in a conversation the person's own answer starts one."""
    if review.execution_id is not None or review.session_id is None:
        return
    session = Session.objects.filter(pk=review.session_id).first()
    if session is None or not has_open_task(session):
        return
    decision = "approved" if review.state == Review.State.APPROVED else "not approved"
    queue_turn(
        review.session_id,
        client_id=f"{names.REVIEW_DECIDED}{review.pk}",
        note=f"What waited for a person here was {decision}. Call continue_run_block with "
        f"review_id={review.pk} to go on, then finish the task.",
    )


def has_open_task(session: Session) -> bool:
    """Return whether the newest input is a task; an agent's task may be in a person's own conversation."""
    task = newest_task(session)
    return session.depth > 0 or (task is not None and (task.client_id or "").startswith(names.TASK))


def waiting_executions(session_id: uuid.UUID) -> set[uuid.UUID]:
    """Return the executions with a node that asked for a turn of this session."""
    asked = Turn.objects.filter(session=session_id, execution_id__isnull=False)
    return {execution_id for execution_id in asked.values_list("execution_id", flat=True) if execution_id}


# --- sessions that wait for a task ----------------------------------------------------------------


def call_back_when_over(turn_id: uuid.UUID, *, session_id: uuid.UUID, call_key: str) -> None:
    """Register a callback to `session_id`. Inside the transaction that saves the result "it is running".

    A task that has ended meanwhile calls back at once; the tool call's result is then updated after the commit,
    because this transaction has yet to write it.
    """
    task = Turn.objects.filter(pk=turn_id)
    if not task.update(tell_session=session_id, tell_call=call_key, told_at=None):
        return  # deleted meanwhile
    call_back_if_over(task.values_list("session_id", flat=True).get())
    if task.exclude(told_at=None).exists():
        after_commit(update_call_result, turn_id)


def call_back_if_over(session_id: uuid.UUID) -> None:
    """Call back the sessions that wait for tasks of this one that are over. Inside the caller's transaction.

    Locks the session's row, so that of an end and a registration at the same time one sees the other.
    """
    if not Session.objects.select_for_update(no_key=True).filter(pk=session_id).exists():
        return  # deleted
    waiting = Turn.objects.filter(session=session_id, told_at=None).exclude(tell_session=None)
    for turn in waiting.select_related("session"):
        progress = progress_of(turn.pk)
        if not progress.is_over:
            continue
        Turn.objects.filter(pk=turn.pk).update(told_at=Turn.clock.now())
        update_call_result(turn.pk)
        assert turn.tell_session_id is not None
        if progress.status == "cancelled":  # no turn is spent on it
            call_back_if_over(turn.tell_session_id)
            continue
        note = task_note(turn, progress.status)
        queue_turn(turn.tell_session_id, client_id=f"{names.TASK_CAME_BACK}{turn.pk}", note=note)


def update_call_result(turn_id: uuid.UUID) -> None:
    """Replace "it is running" in the tool call's result by the outcome of the task."""
    key = Turn.objects.values_list("tell_call", flat=True).get(pk=turn_id)
    for call in ToolCall.objects.filter(key=key):
        report = report_on(turn_id)
        result = status_of(report)
        if report.outside_sources:
            mark(call.session_id, report.outside_sources, turn_id=call.turn_id)
        ToolCall.objects.filter(pk=call.pk).update(result=output.process_later(result, call.session_id))


# --- sessions that are deleted --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Executions and sessions that wait for a session that is about to be deleted."""

    executions: frozenset[uuid.UUID]
    sessions: frozenset[uuid.UUID]

    def call_back(self) -> None:
        """Tell them that nothing will come. Inside the transaction that deletes the session."""
        for session_id in self.sessions:
            call_back_if_over(session_id)
        for execution_id in self.executions:
            wake(execution_id)


def who_waits_for(session: Session) -> Waiting:
    untold = session.turns.filter(told_at=None).values_list("tell_session", flat=True).distinct()
    return Waiting(
        executions=frozenset(waiting_executions(session.pk)),
        sessions=frozenset(session_id for session_id in untold if session_id is not None),
    )


# --- notes for the model: our words only; results are data and are read through tools --------------


def task_note(turn: Turn, status: str) -> str:
    return (
        f"The sub-session {turn.session_id}, started earlier in this conversation, has {status}. "
        "Its answer is in the result of the call that started it; get_sub_session_result shows it again. "
        "The person has not written anything new: tell them the outcome, and go on if more is needed."
    )


def execution_note(execution: Execution) -> str:
    status = "completed" if execution.status == Execution.COMPLETED else "failed"
    return (
        f"The execution {execution.pk}, started earlier in this conversation, has {status}. "
        f"view_agent_output with execution_id={execution.pk} shows its outputs. "
        "The person has not written anything new: read them, tell the person, and go on if more is needed."
    )
