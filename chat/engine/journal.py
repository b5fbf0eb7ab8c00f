"""What a turn's attempt commits: its steps, its tool calls, the steering messages it absorbs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from accounts.ledger import charge_answer
from chat import admission, notifications, protocol, turn_log
from chat.events import ExecutionUpdate, ToolOutput
from chat.models import Message, Step, Turn
from chat.outside_content import mark
from chat.protocol import Framed
from chat.replay import result_events
from durable import event_log, plain_sql
from durable.lease import Lease
from llm.carry import Carry
from llm.types import Completion
from tools.context import WatchedExecution
from tools.dispatch import FinishedCall

T = TypeVar("T")


def write_step(
    turn: Turn,
    attempt: int,
    number: int,
    parts: list[dict[str, Any]],
    carry: Carry,
    completion: Completion,
) -> None:
    """Write the step's rows, its charge and the answer so far. Idempotent: a retried commit writes the same."""
    values = {
        "attempt": attempt,
        "parts": parts,
        "carry": carry.stored(),
        "finish_reason": completion.finish_reason,
        "model_name": completion.model[:128],
        "input_tokens": completion.usage.input_tokens,
        "output_tokens": completion.usage.output_tokens,
        "cost": completion.cost,
    }
    again = ", ".join(f"{name} = EXCLUDED.{name}" for name in values)
    plain_sql.insert(
        [Step(turn=turn, number=number, **values)],
        on_conflict=f"(turn_id, number) DO UPDATE SET {again}",
    )
    charge(turn, number, completion)
    write_text(turn, first=parts if number == 0 else None)


def charge(turn: Turn, number: int, completion: Completion) -> None:
    """Charge for the step, once: the key is the turn and the step."""
    key = f"turn:{turn.pk}:step:{number}"
    charge_answer(completion, user_id=turn.user_id, key=key, job_id=turn.pk)


def write_text(turn: Turn, *, first: list[dict[str, Any]] | None = None) -> None:
    """Store the plain text of the answer so far; `first` are the parts of the only step, if there is one."""
    text = turn_log.answer_text(turn) if first is None else protocol.text_of(first)
    plain_sql.update(Message, {"id": turn.answer_id}, {"text": text})


class TurnJournal:
    """Implements `tools.dispatch.Journal`. `announced` are calls whose results readers have from earlier attempts."""

    def __init__(self, lease: Lease, announced: frozenset[str], touch: Callable[[], None]) -> None:
        self._lease = lease
        self._announced = announced
        self._touch = touch

    def commit(self, work: Callable[[], T], *, finished: FinishedCall | None = None) -> T:
        if finished is None or finished.call_id in self._announced:
            return self._lease.commit(work)
        results = result_events(finished.call_id, finished.output, finished.error_text or "")
        events = [Framed(event) for event in results]
        if not finished.sources:
            return self._lease.commit(work, events=events, crashes=0)
        marking = partial(self._mark_and_run, finished.sources, work)
        return self._lease.commit(marking, events=events, lock_before=True, crashes=0)

    def _mark_and_run(self, sources: Sequence[str], work: Callable[[], T]) -> T:
        """Mark the session in the same transaction: the model reads outside content from now on."""
        turn = self._lease.job
        assert isinstance(turn, Turn)
        turn.session.outside_sources = list(mark(turn.session_id, sources, turn_id=turn.pk))
        return work()

    def progress(self, call_id: str, name: str, output: dict[str, Any]) -> None:
        self._touch()
        self._lease.emitter.hint(Framed(ToolOutput(call_id, output, preliminary=True)))

    def watched(self, execution: WatchedExecution) -> None:
        self._touch()
        update = ExecutionUpdate(execution.id, execution.status, execution.nodes)
        self._lease.emitter.hint(Framed(update))

    def waiting(self, key: str, job_id: uuid.UUID | None) -> AbstractContextManager[None]:
        turn = Turn.objects.select_related("session").get(pk=self._lease.job_id)
        return admission.waiting(turn, self._lease, key=key, job_id=job_id)


def absorb_queued(turn: Turn, lease: Lease, step: int) -> bool:
    """Absorb the session's queued steering messages before `step`; return False if there are none.

    Idempotent: an absorbed message is no longer queued.
    """
    steers = turn.session.turns.filter(status__in=Turn.LIVE).filter(status=Turn.QUEUED, mode=Turn.Mode.STEER)
    if not steers.exists():
        return False  # asked before every step
    waiting = list(steers.order_by("queued_at"))

    def absorb_all() -> None:
        for other in waiting:
            absorb(other, turn, step)

    lease.commit(absorb_all, lock_before=True)
    for other in waiting:
        event_log.nudge(other.pk)
        if other.is_terminal:
            notifications.turn_changed(other)
    return True


def absorb(other: Turn, into: Turn, step: int) -> None:
    now = Turn.clock.now()
    ended = {
        "status": Turn.COMPLETED,
        "end_reason": Turn.EndReason.STEERED,
        "ended_at": now,
        "absorbed_by": into,
    }
    if not Turn.objects.filter(pk=other.pk, status=Turn.QUEUED).update(**ended):
        return  # removed or cancelled meanwhile
    seq = into.session.reserve_seqs(1)
    Message.objects.filter(turn=other, role=Message.Role.USER).update(turn=into, steered_step=step, seq=seq)
    Message.objects.filter(
        turn=other, role=Message.Role.ASSISTANT
    ).delete()  # of one placed before it was edited
    other.refresh_from_db()
    turn_log.close_absorbed(other, into)
    notifications.announce_end(other)
