"""State and outcome of a task: its turn, its continuations, and the long work it still waits for."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from chat import replay, turns
from chat.models import Session, Turn
from chat.protocol import FoldedCall, FoldedTurn, fold_turn
from durable import event_log
from executions import cancellation
from executions.models import Execution, Review
from executions.reviews.decisions import withdraw_one
from tools.models import Operation
from tools.operations.cancellation import stop_all as stop_operations
from tools.sub_sessions import Status, TaskHandle, TaskReport


class NoSuchTask(LookupError):
    """The task's session was deleted."""


@dataclass(frozen=True, kw_only=True)
class TaskProgress:
    """The turns of one task so far; `is_over` when nothing more will come."""

    turns: tuple[Turn, ...]
    is_over: bool

    @property
    def live(self) -> Turn | None:
        return next((turn for turn in self.turns if not turn.is_terminal), None)

    @property
    def status(self) -> Status:
        statuses: Mapping[str, Status] = {Turn.COMPLETED: "completed", Turn.CANCELLED: "cancelled"}
        return statuses.get(self.turns[-1].status, "failed") if self.is_over else "running"


def progress_of(turn_id: uuid.UUID) -> TaskProgress:
    """Return the task's turns; it is over when they all ended and no long work will come back.

    Raises NoSuchTask if its session was deleted.
    """
    first = Turn.objects.select_related("session").filter(pk=turn_id).first()
    if first is None:
        raise NoSuchTask
    later = first.session.turns.filter(superseded_at=None, queued_at__gt=first.queued_at).order_by(
        "queued_at"
    )
    own, has_newer_task = [first], False
    for turn in later:
        if turn.kind == Turn.Kind.MESSAGE:
            has_newer_task = True
            break
        own.append(turn)
    ended = all(turn.is_terminal for turn in own)
    is_over = ended and (has_newer_task or not is_pending(first.session_id))
    return TaskProgress(turns=tuple(own), is_over=is_over)


def newest_task(session: Session) -> Turn | None:
    """Return the newest turn of the session that is not a continuation."""
    asked = session.turns.filter(kind=Turn.Kind.MESSAGE, superseded_at=None, absorbed_by=None)
    return asked.order_by("-queued_at", "-id").first()


def report_on(turn_id: uuid.UUID) -> TaskReport:
    """Return the task's status with everything that a reader of its streams has by now."""
    progress = progress_of(turn_id)
    first, last = progress.turns[0], progress.turns[-1]
    folded = [replayed(turn) for turn in progress.turns]
    until = last.ended_at if progress.is_over and last.ended_at else timezone.now()
    return TaskReport(
        handle=TaskHandle(session_id=first.session_id, turn_id=first.pk),
        status=progress.status,
        title=first.session.title,
        text="\n\n".join(turn.text for turn in folded if turn.text),
        tool_calls=tuple(shown(call) for turn in folded for call in turn.calls.values()),
        usage=usage_of(progress.turns),
        error=last.error if progress.status == "failed" else "",
        doing="" if progress.is_over else activity_of(progress, folded[-1]),
        outside_sources=tuple(first.session.outside_sources),
        seconds=max((until - first.queued_at).total_seconds(), 0.0),
    )


def replayed(turn: Turn) -> FoldedTurn:
    """Fold the turn's committed chunks and what the log has after them."""
    snapshot = replay.snapshot(turn.pk)
    rest = [] if snapshot.ended else event_log.uncommitted(turn.pk, snapshot.at)
    return fold_turn([*snapshot.chunks, *(entry.body for entry in rest)])


def activity_of(progress: TaskProgress, folded: FoldedTurn) -> str:
    """Return what goes on, in words that follow "The sub-session"."""
    if progress.live is None and waits_for_person(progress.turns[0].session_id):
        return "waits for a person to approve what it wants to do"
    if progress.live is None:
        return "waits for long work that it has started"
    if progress.live.status == Turn.QUEUED:
        return "waits for its start"
    if folded.running:
        return f"uses {', '.join(dict.fromkeys(folded.running))}"
    return "writes its answer" if folded.steps and folded.steps[-1].open_prose else "thinks"


def shown(call: FoldedCall) -> dict[str, Any]:
    return {
        "tool_call_id": call.call_id,
        "tool_name": call.name,
        "input": call.input,
        "output": call.error or call.output,
        "success": call.ended and not call.error,
    }


def usage_of(turns: tuple[Turn, ...]) -> dict[str, Any]:
    return {
        "input_tokens": sum(turn.input_tokens for turn in turns),
        "output_tokens": sum(turn.output_tokens for turn in turns),
        "cost": f"{sum(turn.cost for turn in turns):.6f}",
    }


# --- long work that will come back to a session ---------------------------------------------------


def is_pending(session_id: uuid.UUID) -> bool:
    """Return whether an operation, an execution, a task or a review will start another turn of the session."""
    operations = Operation.live().filter(session_id=session_id)
    return (
        operations.exists()
        or executions_of(session_id).exists()
        or tasks_of(session_id).exists()
        or waits_for_person(session_id)
    )


def waits_for_person(session_id: uuid.UUID) -> bool:
    """Return whether a call of the session waits for an approval."""
    return open_reviews(session_id).exists()


def stop_pending(session_id: uuid.UUID) -> None:
    """Ask all of it to stop."""
    stop_operations(session_id)
    for execution in executions_of(session_id):
        cancellation.stop(execution.pk)
    for task in tasks_of(session_id):
        turns.stop(task)
    for review in open_reviews(session_id):
        withdraw_one(review)


def open_reviews(session_id: uuid.UUID) -> QuerySet[Review]:
    return Review.objects.filter(session_id=session_id, execution=None, state=Review.State.WAITING)


def executions_of(session_id: uuid.UUID) -> QuerySet[Execution]:
    return Execution.live().filter(session_id=session_id, tell_session=True)


def tasks_of(session_id: uuid.UUID) -> QuerySet[Turn]:
    return Turn.objects.filter(tell_session=session_id, told_at=None)
