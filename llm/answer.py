"""One answer as it grows: the chunks of a stream become deltas on the way and a completion at the end."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from durable import limits, storable
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
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
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


class Answer:
    """Collects one stream; `take` raises TryFailed as soon as the stream makes no sense."""

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
        """Read the events of one network read; neighbouring pieces of text go out as one delta."""
        try:
            for event in events:
                self._take_event(event)
        finally:  # also what came before a bad event: whether an answer had begun must not depend on the network
            self._flush()
            self._hand_out()

    def take_whole(self, body: bytes) -> None:
        """Read an answer that came in one piece although a stream was asked for."""
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
        """What the model wants back with this answer; `origin` names the model."""
        return self._carry.carry(origin, [call.id for call in self._calls])

    def finish(self) -> FinishReason:
        """Check that the answer is whole, and say how it ended."""
        for call in self._calls:
            self._announce(call)
        self._hand_out()
        if not self._finish or self._finish == "error":
            raise self._failed(Kind.CUT, "The stream ended without a finish reason")
        if not self.done and not all(_is_json(call.arguments) for call in self._calls):
            raise self._failed(Kind.CUT, "The stream ended within a tool call")
        reason = FINISH_REASONS.get(self._finish, "stop")
        if self._calls and reason == "stop":
            return "tool_calls"
        if not self._calls and reason == "tool_calls":
            reason = "stop"
        if not self._text and not self._calls and (self._refusal or reason == "content_filter"):
            raise self._refused()
        return reason

    def _take_event(self, event: bytes) -> None:
        if event == DONE:
            self.done = True
            return
        try:
            self._take_chunk(storable.loads(event))
        except NOT_A_CHUNK as error:
            if self._finish and self._finish != "error":
                return  # the answer is whole and paid for: what was to follow is its usage, which is estimated then
            detail = f"Not a chunk of {len(event)} bytes ({type(error).__name__}: {error})"
            raise self._failed(Kind.NONSENSE, detail) from None

    def _take_chunk(self, chunk: Mapping[str, Any]) -> None:
        if chunk.get("error"):
            raise TryFailed(replace(from_error_object(chunk["error"]), started=self.started))
        choices = chunk.get("choices")
        if choices:
            self._take_choice(choices[0])
        elif choices is None and "usage" not in chunk and self.chunks == 0:
            raise ValueError("it has no choices")
        self.chunks += 1
        usage = chunk.get("usage") or _object(chunk.get("x_groq")).get("usage")
        if isinstance(usage, Mapping):
            self._take_usage(usage)

    def _take_choice(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if delta:
            content = delta.get("content")
            if content:
                self._take_content(content)
            if len(delta) > 1 or not content:
                self._take_rest(delta)
        if choice.get("finish_reason"):
            self._finish = str(choice["finish_reason"]).lower()

    def _take_content(self, content: str | list[Mapping[str, Any]]) -> None:
        if isinstance(content, str):
            self._pending.append(content)
            return
        for part in content:  # some servers send parts instead of text
            if part.get("type") == "thinking":
                self._take_reasoning("".join(str(piece.get("text", "")) for piece in part["thinking"]))
            else:
                self._pending.append(str(part.get("text", "")))

    def _take_rest(self, delta: Mapping[str, Any]) -> None:
        self._carry.take_message(delta)
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str) and reasoning:
            self._take_reasoning(reasoning)
        if delta.get("refusal"):
            self._refusal.append(str(delta["refusal"]))
        for call in delta.get("tool_calls") or ():
            self._take_call(call)
        if delta.get("function_call"):
            self._take_call({"index": 0, "function": delta["function_call"]})

    def _take_reasoning(self, text: str) -> None:
        self._flush()
        text = storable.text(text)
        self._reasoning.append(text)
        self._deltas.append(ReasoningDelta(text=text))

    def _take_call(self, piece: Mapping[str, Any]) -> None:
        self._flush()
        function = piece.get("function") or {}
        name = storable.text(str(function.get("name") or ""), most=MAX_NAME_CHARACTERS)
        call = self._call_for(piece, name)
        self._carry.take_call(call.index, piece)
        arguments = function.get("arguments")
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

    def _call_for(self, piece: Mapping[str, Any], name: str) -> GrowingCall:
        """The call this piece belongs to: by index, else the newest; a new id with a name is always a new call."""
        wire_id = storable.text(str(piece.get("id") or ""))
        wire_index = piece.get("index")
        call = self._known_call(wire_index, wire_id, name)
        if call is None:
            call = GrowingCall(index=len(self._calls), wire_id=wire_id, wire_index=wire_index)
            taken = {other.id for other in self._calls}
            call.id = wire_id if wire_id and wire_id not in taken else f"call_{uuid.uuid4().hex[:24]}"
            self._calls.append(call)
        call.name = call.name or name
        return call

    def _known_call(self, wire_index: int | None, wire_id: str, name: str) -> GrowingCall | None:
        if wire_index is None:
            if not self._calls or (name and (not wire_id or wire_id != self._calls[-1].wire_id)):
                return None
            return next((call for call in reversed(self._calls) if call.wire_id == wire_id), self._calls[-1])
        call = next((call for call in reversed(self._calls) if call.wire_index == wire_index), None)
        if call is not None and name and wire_id and call.wire_id and call.wire_id != wire_id:
            return None
        return call

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

    def _take_usage(self, usage: Mapping[str, Any]) -> None:
        """The newest report stands: servers that report on every chunk report totals.

        One that cannot be true is left out, so that the answer's tokens are estimated; the answer itself stands.
        """
        details = _object(usage.get("prompt_tokens_details"))
        output_details = _object(usage.get("completion_tokens_details"))
        input_tokens, output_tokens = (
            _tokens(usage.get("prompt_tokens")),
            _tokens(usage.get("completion_tokens")),
        )
        if input_tokens is None or output_tokens is None:
            logger.warning("The model server reported a usage that cannot be true; it is estimated instead")
            return
        cached = details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")
        self.usage = Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_tokens=min(_tokens(cached) or 0, input_tokens),
            reasoning_tokens=_tokens(output_details.get("reasoning_tokens")) or 0,
        )
        cost = storable.amount(usage.get("cost"), most=Decimal(limits.MODEL_MAX_ANSWER_COST))
        self.reported_cost = self.reported_cost if cost is None else cost

    def _refused(self) -> TryFailed:
        words = storable.text("".join(self._refusal)).strip()
        error = ModelRefused(f"The model declined to answer: {words}" if words else "")
        return TryFailed(Failure(kind=Kind.FINAL, error=error))

    def _failed(self, kind: Kind, detail: str) -> TryFailed:
        return TryFailed(Failure(kind=kind, detail=detail, started=self.started))


def _tokens(reported: object) -> int | None:
    """A reported number of tokens; 0 where none is reported, None where it cannot be true."""
    return 0 if reported is None else storable.count(reported, most=limits.MODEL_MAX_ANSWER_TOKENS)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_json(pieces: list[str]) -> bool:
    text = "".join(pieces)
    try:
        json.loads(text or "{}")
    except ValueError:
        return False
    except RecursionError:
        return True  # so deep that nobody reads it, which is for the tools to say
    return True
