"""A worker that does what a test tells it: it claims, emits and commits for real, only the model is left out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from chat import turn_log
from chat.events import (
    ProseDelta,
    ProseEnded,
    ProseStarted,
    StatusNote,
    StepFinished,
    StepStarted,
    ToolInputStarted,
    TurnEvent,
)
from chat.models import Message, Step, Turn
from chat.protocol import Framed
from chat.replay import result_events
from durable import jobs
from durable.lease import Lease
from tools.arguments import why_unreadable
from tools.models import ToolCall, call_key


class FakeWorker:
    """One attempt at one turn."""

    def __init__(self, turn: Turn, *, owner: str = "fake-worker") -> None:
        lease = jobs.claim(Turn, turn.pk, owner=owner)
        assert lease is not None, "The turn could not be claimed."
        self.lease: Lease = lease
        self.turn = turn
        turn.refresh_from_db()
        self.step = turn.steps.count()
        self.parts: list[dict[str, Any]] = []

    def emit(self, *events: TurnEvent) -> None:
        for event in events:
            self.lease.emitter.emit(Framed(event))

    def settle(self) -> None:
        """Everything said so far has reached Redis; what comes next is an event of its own."""
        assert self.lease.emitter.flush(10)

    def hint(self, message: str) -> None:
        self.lease.emitter.hint(Framed(StatusNote(message, {})))

    def open_step(self, *extra: TurnEvent) -> None:
        self.emit(*([StepFinished()] if self.step else []), StepStarted(), *extra)

    def say(self, *pieces: str, kind: str = "text", apart: bool = False) -> None:
        """A whole part; `apart` sends each piece as an event of its own."""
        part_id = f"s{self.step}-p{len(self.parts)}"
        self.emit(ProseStarted(kind, part_id))  # type: ignore[arg-type]
        for piece in pieces:
            self.emit(ProseDelta(kind, part_id, piece))  # type: ignore[arg-type]
            if apart:
                self.settle()
        self.emit(ProseEnded(kind, part_id))  # type: ignore[arg-type]
        self.parts.append({"kind": kind, "text": "".join(pieces)})

    def ask_for(self, call_id: str, name: str, arguments: str) -> None:
        self.emit(ToolInputStarted(call_id, name))
        self.parts.append({"kind": "tool", "id": call_id, "name": name, "arguments": arguments})

    def commit_step(self) -> None:
        """The step's rows; its tool calls are announced with the commit."""
        from chat.protocol import tool_input

        calls = [part for part in self.parts if part["kind"] == "tool"]
        told: list[TurnEvent] = [
            turn_log.call_written(call["id"], call["name"], call["arguments"]) for call in calls
        ]
        ready = [turn_log.metadata_so_far(self.turn), *told]
        parts, number = self.parts, self.step

        def write() -> None:
            Step.objects.create(turn=self.turn, number=number, attempt=self.lease.attempt, parts=parts)
            for index, call in enumerate(calls):
                ToolCall.objects.create(
                    key=call_key(self.turn.pk, number, call["id"]),
                    turn_id=self.turn.pk,
                    session_id=self.turn.session_id,
                    user=self.turn.user,
                    step=number,
                    index=index,
                    call_id=call["id"],
                    name=call["name"],
                    arguments=tool_input(call["arguments"]),
                    effect="pure",
                    state=ToolCall.State.STARTED,
                    attempt=self.lease.attempt,
                    started_at=timezone.now(),
                )
            self._write_text()

        self.lease.commit(write, events=[Framed(event) for event in ready])
        self.parts, self.step = [], number + 1

    def answer_call(self, call_id: str, result: Any, error: str = "") -> None:
        state = ToolCall.State.FAILED if error else ToolCall.State.SUCCEEDED

        def write() -> None:
            rows = ToolCall.objects.filter(turn_id=self.turn.pk, call_id=call_id)
            rows.update(state=state, result=result, error=error)

        parts = [part for step in self.turn.steps.all() for part in step.parts]
        [arguments] = [part["arguments"] for part in parts if part.get("id") == call_id]
        told = [] if why_unreadable(arguments) else result_events(call_id, result, error)
        self.lease.commit(write, events=[Framed(event) for event in told])

    def finish(
        self, status: str = Turn.COMPLETED, reason: str = "done", error: str = "", **changes: Any
    ) -> None:
        """The final commit; what is open of the last step is kept with it."""
        parts, number = self.parts, self.step
        changes = {"input_tokens": 10, "output_tokens": 20, "cost": Decimal("0.0012"), **changes}
        for name, value in changes.items():
            setattr(self.turn, name, value)
        self.turn.status, self.turn.end_reason, self.turn.error = status, reason, error

        def write() -> None:
            if parts:
                Step.objects.create(turn=self.turn, number=number, attempt=self.lease.attempt, parts=parts)
            self._write_text()

        in_step = bool(parts) or self.turn.steps.exists()
        events = turn_log.closing_events(self.turn, open_prose={}, in_step=in_step)
        self.lease.finish(
            status, reason=reason, error=error, work=write, events=[Framed(e) for e in events], **changes
        )

    def die(self) -> None:
        """Gone without a word; the lease is over at once, so that another can take the turn."""
        self.settle()
        self.lease.emitter.close()
        Turn.objects.filter(pk=self.turn.pk).update(lease_until=timezone.now() - timedelta(seconds=60))

    def _write_text(self) -> None:
        Message.objects.filter(pk=self.turn.answer_id).update(text=turn_log.answer_text(self.turn))


def answer(turn: Turn, *pieces: str) -> None:
    """A whole turn with one step of text."""
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say(*(pieces or ("Hello", " world")))
    worker.finish()


def bodies(batches: Sequence[Any]) -> list[str]:
    return [entry.body for batch in batches for entry in batch]
