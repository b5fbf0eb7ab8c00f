"""What has come of a task: its turn and those in which long work came back to it, read as any reader reads them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from chat import replay
from chat.fold import Told, ToldCall, told_by
from chat.models import Session, Turn
from chat.sub_sessions.pending import is_pending, waits_for_person
from durable import log
from tools.sub_sessions import Handle, Report, Status


class NoSuchTask(LookupError):
    """The task's session was deleted."""


@dataclass(frozen=True, kw_only=True)
class Course:
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


def course_of(turn_id: uuid.UUID) -> Course:
    """A task goes on while one of its turns does, and while long work is on its way back to it.

    Raises NoSuchTask when its session was deleted.
    """
    first = Turn.objects.select_related("session").filter(pk=turn_id).first()
    if first is None:
        raise NoSuchTask
    later = first.session.turns.filter(superseded_at=None, queued_at__gt=first.queued_at).order_by(
        "queued_at"
    )
    turns, has_newer_task = [first], False
    for turn in later:
        if turn.kind == Turn.Kind.MESSAGE:
            has_newer_task = True
            break
        turns.append(turn)
    ended = all(turn.is_terminal for turn in turns)
    return Course(turns=tuple(turns), is_over=ended and (has_newer_task or not is_pending(first.session_id)))


def newest_task(session: Session) -> Turn | None:
    """The newest turn that somebody asked for."""
    asked = session.turns.filter(kind=Turn.Kind.MESSAGE, superseded_at=None, absorbed_by=None)
    return asked.order_by("-queued_at", "-id").first()


def report_on(turn_id: uuid.UUID) -> Report:
    """How a task stands, with what a reader of its streams has by now."""
    course = course_of(turn_id)
    first, last = course.turns[0], course.turns[-1]
    told = [told_of(turn) for turn in course.turns]
    until = last.ended_at if course.is_over and last.ended_at else timezone.now()
    return Report(
        handle=Handle(session_id=first.session_id, turn_id=first.pk),
        status=course.status,
        title=first.session.title,
        text="\n\n".join(part.text for part in told if part.text),
        tool_calls=tuple(shown(call) for part in told for call in part.calls.values()),
        usage=usage_of(course.turns),
        error=last.error if course.status == "failed" else "",
        doing="" if course.is_over else doing(course, told[-1]),
        outside_sources=tuple(first.session.outside_sources),
        seconds=max((until - first.queued_at).total_seconds(), 0.0),
    )


def told_of(turn: Turn) -> Told:
    """The turn folded by the code that folds streams: what is committed, and what the log has after it."""
    snapshot = replay.snapshot(turn.pk)
    rest = [] if snapshot.ended else log.uncommitted(turn.pk, snapshot.at)
    return told_by([*snapshot.chunks, *(entry.body for entry in rest)])


def doing(course: Course, told: Told) -> str:
    """What goes on, in words that follow "The sub-session"."""
    if course.live is None and waits_for_person(course.turns[0].session_id):
        return "waits for a person to approve what it wants to do"
    if course.live is None:
        return "waits for long work that it has started"
    if course.live.status == Turn.QUEUED:
        return "waits for its start"
    if told.running:
        return f"uses {', '.join(dict.fromkeys(told.running))}"
    return "writes its answer" if told.steps and told.steps[-1].open_prose else "thinks"


def shown(call: ToldCall) -> dict[str, Any]:
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
