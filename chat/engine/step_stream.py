"""Streaming of one model answer: deltas become events for the readers and the parts of a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, assert_never

from chat.engine.status_notes import IdleNotices
from chat.events import (
    AttemptStarted,
    Prose,
    ProseEnded,
    ProseStarted,
    StatusNote,
    ToolInputDelta,
    ToolInputStarted,
    TurnEvent,
    prose_deltas,
)
from chat.protocol import Framed, Part, cut_off
from chat.turn_log import call_written
from durable import crashpoints
from durable.clock import current_time
from durable.emitter import Emitter
from llm.carry import Carry
from llm.types import (
    Completion,
    Delta,
    FailedTry,
    ReasoningDelta,
    RetryNote,
    StreamReset,
    TextDelta,
    ToolCallDelta,
    ToolCallRequest,
    ToolCallStart,
)

CRASH_AT_DELTA = 3  # where fault tests cut an answer in two
KEPT_FAILURES = 50  # of one turn
KEPT_DETAIL_CHARACTERS = 300


class StepStream:
    """Receives the deltas of one answer. `opening` is emitted again if the model has to be asked again; failed
    requests are appended to `failures`."""

    def __init__(
        self,
        emitter: Emitter,
        *,
        number: int,
        opening: Sequence[TurnEvent],
        taken_ids: Iterable[str],
        idle: IdleNotices,
        failures: list[dict[str, Any]],
    ) -> None:
        self.parts: list[dict[str, Any]] = []
        self._emitter = emitter
        self._number = number
        self._opening = opening
        self._taken_ids = frozenset(taken_ids)
        self._idle = idle
        self._failures = failures
        self._open: tuple[Prose, str] | None = None
        self._calls: dict[int, dict[str, Any]] = {}
        self._heard = 0
        self.first_word_at: datetime | None = None

    def open(self) -> None:
        for event in self._opening:
            self._emitter.emit(Framed(event))

    def receive(self, delta: Delta) -> None:
        """Apply one delta; called by the model client, must not block."""
        self._idle.touch()
        self._heard += 1
        if self._heard == CRASH_AT_DELTA:
            crashpoints.reached("mid_model")
        match delta:
            case TextDelta(text=text):
                self._prose("text", text)
            case ReasoningDelta(text=text):
                self._prose("reasoning", text)
            case ToolCallStart(index=index, id=call_id, name=name):
                self._begin_call(index, call_id, name)
            case ToolCallDelta(index=index, arguments=arguments):
                self._more_arguments(index, arguments)
            case StreamReset():
                self._begin_again()
            case RetryNote(message=message, seconds=seconds):
                self._emitter.hint(Framed(StatusNote(message, {"waiting_for": "model", "seconds": seconds})))
            case FailedTry():
                self._note_failure(delta)
            case _:
                assert_never(delta)

    def finish(self, completion: Completion) -> list[TurnEvent]:
        """Return the events that close the step once it is committed; only then are tool calls shown complete."""
        events: list[TurnEvent] = self._closing_prose()
        for call in self.calls(completion):
            events.append(call_written(call.id, call.name, call.arguments))
        return events

    def calls(self, completion: Completion) -> list[ToolCallRequest]:
        """Return the model's tool calls, each with an id that is unique in the turn."""
        return [
            ToolCallRequest(id=self._own_id(call.id), name=call.name, arguments=call.arguments)
            for call in completion.tool_calls
        ]

    def carry(self, completion: Completion) -> Carry:
        """Return what the model wants back with this answer, with the call ids of `calls`."""
        return completion.carry.with_call_ids(
            {call.id: self._own_id(call.id) for call in completion.tool_calls}
        )

    def final_parts(self, completion: Completion) -> list[dict[str, Any]]:
        """Return the parts to commit, in the order they were shown, each call with its complete arguments."""
        arguments = {call.id: call.arguments for call in self.calls(completion)}
        shown = [
            part | {"arguments": arguments.get(part["id"], "")} if part["kind"] == "tool" else part
            for part in self.parts
        ]
        return [part for part in shown if part["kind"] == "tool" or part["text"]]

    @property
    def open_prose(self) -> dict[str, Prose]:
        return {} if self._open is None else {self._open[1]: self._open[0]}

    def cut_off(self, why: str) -> list[Part]:
        """Return what is kept of an answer that was cut off."""
        return cut_off(self.parts, why)

    def _prose(self, kind: Prose, text: str) -> None:
        if not text:
            return
        self.first_word_at = self.first_word_at or current_time()
        if self._open is None or self._open[0] != kind:
            self._close_prose()
            self._open = (kind, f"s{self._number}-p{len(self.parts)}")
            self.parts.append({"kind": kind, "text": ""})
            self._emitter.emit(Framed(ProseStarted(*self._open)))
        self.parts[-1]["text"] += text
        for event in prose_deltas(*self._open, text):
            self._emitter.emit(Framed(event))

    def _close_prose(self) -> None:
        for event in self._closing_prose():
            self._emitter.emit(Framed(event))

    def _closing_prose(self) -> list[TurnEvent]:
        if self._open is None:
            return []
        ended = ProseEnded(*self._open)
        self._open = None
        return [ended]

    def _begin_call(self, index: int, call_id: str, name: str) -> None:
        self._close_prose()
        call = {"kind": "tool", "id": self._own_id(call_id), "name": name, "arguments": ""}
        self.parts.append(call)
        self._calls[index] = call
        self._emitter.emit(Framed(ToolInputStarted(call["id"], name)))

    def _more_arguments(self, index: int, arguments: str) -> None:
        if not arguments:
            return
        call = self._calls[index]
        call["arguments"] += arguments
        self._emitter.emit(Framed(ToolInputDelta(call["id"], arguments)))

    def _note_failure(self, failed: FailedTry) -> None:
        """Add a failed request to the turn's row, which the next commit writes anyway."""
        if len(self._failures) < KEPT_FAILURES:
            where = {"attempt": self._emitter.attempt, "step": self._number, "model": failed.model}
            what = {"kind": failed.kind, "detail": failed.detail[:KEPT_DETAIL_CHARACTERS]}
            self._failures.append({"at": current_time().isoformat(), **where, **what})

    def _begin_again(self) -> None:
        self.parts.clear()
        self._calls.clear()
        self._open = None
        self._emitter.reset(Framed(AttemptStarted(self._emitter.attempt, self._number)))
        self.open()

    def _own_id(self, call_id: str) -> str:
        return f"{call_id}.{self._number}" if call_id in self._taken_ids else call_id
