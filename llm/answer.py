"""One streamed answer: collects what a dialect reads into deltas, and into a completion at the end."""

from __future__ import annotations

import json
import logging
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from durable import storable
from llm import limits
from llm.carry import Carry, CarryCollector
from llm.errors import ModelRefused
from llm.failures import TryFailed, from_error_object
from llm.retry import Failure, Kind
from llm.types import (
    Delta,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallRequest,
    ToolCallStart,
    Usage,
)

logger = logging.getLogger(__name__)

DONE = b"[DONE]"
MAX_NAME_CHARACTERS = 1_000  # of a tool; no tool has such a name
NOT_A_CHUNK = (ValueError, AttributeError, TypeError, KeyError, IndexError, RecursionError)
FINISH_REASONS: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "spii": "content_filter",
}
# The server gave up on an answer that it had begun: DeepSeek without resources, an engine that was told to stop, Gemini
# with a tool call of its model that it could not read.
BROKEN_OFF = {
    "error",
    "abort",
    "aborted",
    "insufficient_system_resource",
    "malformed_function_call",
    "unexpected_tool_call",
    "function_call_filter",
}


@dataclass(kw_only=True)
class GrowingCall:
    """A tool call whose arguments are still arriving."""

    index: int
    id: str = ""
    wire_id: str = ""
    wire_index: int | None = None
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    announced: bool = False


class AnswerCollector(ABC):
    """Collects one stream; `take` raises TryFailed as soon as the stream is invalid.

    A dialect implements `_take_chunk`, which reads one event and calls the methods below it.
    """

    def __init__(self, on_delta: Callable[[Delta], None]) -> None:
        self._on_delta = on_delta
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[GrowingCall] = []
        self._carry = CarryCollector()
        self._pending: list[str] = []  # text of this read that is not a delta yet
        self._deltas: list[Delta] = []  # of this read
        self._half = ""  # the first half of a character that a server cut in two
        self._finish = ""
        self.done = False  # the stream's own end mark has been seen
        self.chunks = 0
        self.started = False  # a delta has been emitted
        self.usage: Usage | None = None
        self.reported_cost: Decimal | None = None

    def take(self, events: list[bytes]) -> None:
        """Read the events of one network read; adjacent pieces of text become one delta."""
        try:
            for event in events:
                self._take_event(event)
        finally:  # also after a bad event: whether an answer has started must not depend on the size of reads
            self._flush()
            self._hand_out()

    def take_whole(self, body: bytes) -> None:
        """Read an answer that came in one piece although a stream was requested."""
        self.take([body, DONE])

    def text(self) -> str:
        return "".join(self._text)

    def reasoning(self) -> str:
        return "".join(self._reasoning)

    def tool_calls(self) -> tuple[ToolCallRequest, ...]:
        return tuple(
            ToolCallRequest(id=call.id, name=call.name, arguments="".join(call.arguments))
            for call in self._calls
        )

    def carry(self, origin: str) -> Carry:
        """Return what the model wants back with this answer; `origin` names the model."""
        if layout := self._layout():
            self._carry.set_layout(layout)
        return self._carry.carry(origin, [call.id for call in self._calls])

    def finish(self) -> FinishReason:
        """Check that the answer is complete, and return how it ended."""
        for call in self._calls:
            self._announce(call)
        self._hand_out()
        said = self._finish.partition(":")[0]  # some add why: "content_filter: PROHIBITED_CONTENT"
        if not said or said in BROKEN_OFF:
            why = f"The server broke off: {said}" if said else "The stream ended without a finish reason"
            raise self._failed(Kind.CUT, why)
        if not self.done and not all(_is_json(call.arguments) for call in self._calls):
            raise self._failed(Kind.CUT, "The stream ended within a tool call")
        reason = FINISH_REASONS.get(said, "stop")
        if self._is_refused(reason):
            raise self._refused()
        if self._calls and reason == "stop":
            return "tool_calls"
        if not self._calls and reason == "tool_calls":
            reason = "stop"
        return reason

    @abstractmethod
    def _take_chunk(self, chunk: Mapping[str, Any]) -> None:
        """Read one event; raises one of NOT_A_CHUNK if it does not belong to this dialect."""

    def _is_refused(self, reason: FinishReason) -> bool:
        """Return whether there is no answer to use: text that a filter has cut is shown, a tool call is not run."""
        if self._calls:
            return reason == "content_filter"
        return not self._text and (bool(self._refusal) or reason == "content_filter")

    def _layout(self) -> list[dict[str, Any]]:
        """Return the order of the answer's parts, if the model wants it back; see `llm.layout`."""
        return []

    # --- for dialects -----------------------------------------------------------------------------

    def _add_text(self, text: object) -> int:
        """Add a piece of the text; return its number of characters."""
        if not isinstance(text, str):
            raise TypeError("its text is no text")
        self._pending.append(text)
        return len(text)

    def _take_reasoning(self, text: str) -> None:
        self._flush()
        text = storable.text(text)
        self._reasoning.append(text)
        self._deltas.append(ReasoningDelta(text=text))

    def _open_call(self, *, wire_id: str, wire_index: int | None, name: str) -> GrowingCall:
        """Add a new tool call under a unique id."""
        self._flush()
        wire_id = storable.text(wire_id)
        call = GrowingCall(index=len(self._calls), wire_id=wire_id, wire_index=wire_index)
        taken = {other.id for other in self._calls}
        call.id = wire_id if wire_id and wire_id not in taken else f"call_{uuid.uuid4().hex[:24]}"
        call.name = storable.text(name, most=MAX_NAME_CHARACTERS)
        self._calls.append(call)
        return call

    def _add_arguments(self, call: GrowingCall, arguments: object) -> None:
        """Add a piece of a call's arguments; some servers send them as an object."""
        if arguments is None:
            arguments = ""
        elif not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if call.name:
            self._announce(call)
        if arguments:
            call.arguments.append(storable.text(arguments))
            if call.announced:
                self._deltas.append(ToolCallDelta(index=call.index, arguments=call.arguments[-1]))

    def _set_usage(
        self, *, input: object, output: object, cached: object, written: object, reasoning: object
    ) -> bool:
        """Record reported tokens; the newest report counts, because servers report totals.

        Return False for an implausible report: it is ignored and the tokens are estimated; the answer is kept.
        """
        input_tokens, output_tokens = _tokens(input), _tokens(output)
        if input_tokens is None or output_tokens is None:
            logger.warning("The model server reported an implausible usage; it is estimated instead")
            return False
        cached_tokens = min(_tokens(cached) or 0, input_tokens)
        self.usage = Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_tokens=cached_tokens,
            cache_write_tokens=min(_tokens(written) or 0, input_tokens - cached_tokens),
            reasoning_tokens=_tokens(reasoning) or 0,
        )
        return True

    def _error(self, error: Any, statuses: Mapping[str, int] | None = None) -> TryFailed:
        """Return the failure of an error inside the stream; `statuses` maps its types to HTTP statuses."""
        return TryFailed(replace(from_error_object(error, statuses or {}), started=self.started))

    # --- shared -----------------------------------------------------------------------------------

    def _take_event(self, event: bytes) -> None:
        if event == DONE:
            self.done = True
            return
        try:
            self._take_chunk(storable.loads(event))
        except NOT_A_CHUNK as error:
            if self._finish and self._finish not in BROKEN_OFF:
                return  # the answer is complete; only its usage was to follow, which is estimated then
            detail = f"Not a chunk of {len(event)} bytes ({type(error).__name__}: {error})"
            raise self._failed(Kind.NONSENSE, detail) from None

    def _announce(self, call: GrowingCall) -> None:
        if call.announced:
            return
        call.announced = True
        self._deltas.append(ToolCallStart(index=call.index, id=call.id, name=call.name))
        if call.arguments:
            self._deltas.append(ToolCallDelta(index=call.index, arguments="".join(call.arguments)))

    def _flush(self) -> None:
        if not self._pending:
            return
        text = self._half + "".join(self._pending)
        self._pending = []
        self._half = ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        text = storable.text(text)
        if text:
            self._text.append(text)
            self._deltas.append(TextDelta(text=text))

    def _hand_out(self) -> None:
        deltas, self._deltas = self._deltas, []
        for delta in deltas:
            self.started = True
            self._on_delta(delta)

    def _refused(self) -> TryFailed:
        words = storable.text("".join(self._refusal)).strip()
        error = ModelRefused(f"The model declined to answer: {words}" if words else "")
        return TryFailed(Failure(kind=Kind.FINAL, error=error))

    def _failed(self, kind: Kind, detail: str) -> TryFailed:
        return TryFailed(Failure(kind=kind, detail=detail, started=self.started))


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def reported_cost(value: object) -> Decimal | None:
    """Return a cost in USD that a server reports, if it is plausible."""
    return storable.amount(value, most=Decimal(limits.MODEL_MAX_ANSWER_COST))


def _tokens(reported: object) -> int | None:
    """Return a reported number of tokens; 0 if none is reported, None if it is not plausible."""
    return 0 if reported is None else storable.count(reported, most=limits.MODEL_MAX_ANSWER_TOKENS)


def _is_json(pieces: list[str]) -> bool:
    text = "".join(pieces)
    try:
        json.loads(text or "{}")
    except ValueError:
        return False
    except RecursionError:
        return True  # too deeply nested to parse; the tools report that
    return True
