"""Calling a conversation back when a task it handed over is done: one turn per task, whatever dies."""

from __future__ import annotations

import uuid

from chat.continuations import queue_turn
from chat.models import Session, Turn
from chat.outside_content import mark
from chat.sub_sessions import names
from chat.sub_sessions.outcome import course_of, report_on
from durable.after_commit import after_commit
from tools import output
from tools.catalog.sub_sessions import status_of
from tools.models import ToolCall


def tell_when_over(turn_id: uuid.UUID, *, session_id: uuid.UUID, call_key: str) -> None:
    """Have `session_id` called back. Inside the transaction that saves the answer "it is running".

    A task that ended between that answer and now comes back at once; the call is then put right after the commit,
    since the answer is written after this.
    """
    asked = Turn.objects.filter(pk=turn_id)
    if not asked.update(tell_session=session_id, tell_call=call_key, told_at=None):
        return  # deleted meanwhile
    tell_if_over(asked.values_list("session_id", flat=True).get())
    if asked.exclude(told_at=None).exists():
        after_commit(put_right, turn_id)


def tell_if_over(session_id: uuid.UUID) -> None:
    """Call back whoever waits for a task of this session that is over. Inside the transaction of who changed that.

    The session's row is locked, so of an end and a wish that come together one sees the other.
    """
    if not Session.objects.select_for_update(no_key=True).filter(pk=session_id).exists():
        return  # deleted
    waiting = Turn.objects.filter(session=session_id, told_at=None).exclude(tell_session=None)
    for turn in waiting.select_related("session"):
        course = course_of(turn.pk)
        if not course.is_over:
            continue
        Turn.objects.filter(pk=turn.pk).update(told_at=Turn.clock.now())
        put_right(turn.pk)
        assert turn.tell_session_id is not None
        if course.status == "cancelled":  # whoever cancelled it knows; no turn is spent on it
            tell_if_over(turn.tell_session_id)
            continue
        note = note_about(turn, course.status)
        queue_turn(turn.tell_session_id, client_id=f"{names.TASK_CAME_BACK}{turn.pk}", note=note)


def put_right(turn_id: uuid.UUID) -> None:
    """Where the model was told that the task is running, it reads from now on what came of it."""
    key = Turn.objects.values_list("tell_call", flat=True).get(pk=turn_id)
    for call in ToolCall.objects.filter(key=key):
        report = report_on(turn_id)
        result = status_of(report)
        if report.outside_sources:
            mark(call.session_id, report.outside_sources, turn_id=call.turn_id)
        ToolCall.objects.filter(pk=call.pk).update(result=output.process_later(result, call.session_id))


def note_about(turn: Turn, status: str) -> str:
    """Words of ours alone: what the sub-session said is data, and stands in the tool's result."""
    return (
        f"The sub-session {turn.session_id}, started earlier in this conversation, has {status}. "
        "Its answer stands where it was started; get_sub_session_result shows it again. "
        "The person has not written anything new: tell them what came of it, and go on where that is needed."
    )
