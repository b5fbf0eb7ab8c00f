"""The chat completion of a turn, whole or as chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from chat import protocol
from chat.delivery.sse import one_line
from chat.models import Turn
from chat.turn_options import TurnOptions
from doors.openai import ids
from doors.openai.errors import OpenAIError
from doors.openai.response_events import DELTA, INPUT, INPUT_DELTA, REASONING_DELTA, TEXT_DELTA
from doors.openai.response_object import TurnView, used_tool
from durable.event_log import LoggedEvent, encode


class AnswerRestarted(OpenAIError):
    """The worker died while it wrote this answer, and the new answer differs from what was sent.

    Send the request again, with the same Idempotency-Key, to get the whole new answer without a second charge.
    """

    kind = "server_error"
    code = "answer_restarted"


def completion(turn: Turn) -> dict[str, Any]:
    """Return the chat completion of a turn that has ended."""
    view = TurnView.of(turn)
    calls = [
        {
            "id": ids.client_call_id(turn.pk, step, part["id"]),
            "type": "function",
            "function": {"name": part["name"], "arguments": part["arguments"]},
        }
        for step, part in view.pending_calls()
    ]
    message: dict[str, Any] = {"role": "assistant", "content": view.text or None, "refusal": None}
    if not calls:
        message["content"] = view.text
    else:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(view)}
    return head(turn, "chat.completion") | {"choices": [choice], "usage": usage(turn)}


def head(turn: Turn, kind: str) -> dict[str, Any]:
    return {
        "id": ids.completion_id(turn.pk),
        "object": kind,
        "created": int(turn.queued_at.timestamp()),
        "model": TurnOptions.of(turn).echo.get("model") or "copilot",
        "system_fingerprint": None,
    }


def finish_reason(view: TurnView) -> str:
    if view.pending_calls():
        return "tool_calls"
    reason = view.finish_reason
    return reason if reason in ("length", "content_filter") else "stop"


def usage(turn: Turn) -> dict[str, Any]:
    return {
        "prompt_tokens": turn.input_tokens,
        "completion_tokens": turn.output_tokens,
        "total_tokens": turn.input_tokens + turn.output_tokens,
        "prompt_tokens_details": {"cached_tokens": turn.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": turn.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


class CompletionTranslator:
    """The state of one reader of a chat completion: a turn's events become chunks, as server-sent events.

    This protocol cannot take anything back. After a takeover the part of the new answer that was sent already is
    skipped; if the new answer differs from it, AnswerRestarted is raised rather than sending a mixture.
    """

    def __init__(self, turn: Turn, *, include_usage: bool) -> None:
        self._turn = turn
        self._client_tools = {tool.name for tool in TurnOptions.of(turn).tools}
        usage = ',"usage":null' if include_usage else ""
        self._include_usage = include_usage
        begin = one_line(encode(head(turn, "chat.completion.chunk"))[:-1])
        self._begin = f'data: {begin},"choices":[{{"index":0,"delta":'
        self._end = f',"logprobs":null,"finish_reason":null}}]{usage}}}\n\n'
        self._sent: list[tuple[str, str]] = []  # of the steps so far: what, and its text inside JSON quotes
        self._steps: list[int] = []  # where each step begins in it
        self._known: list[tuple[str, str]] = []  # sent before a takeover and not seen again yet
        self._calls: dict[str, int] = {}

    def opening(self) -> str:
        return self._chunk('{"role":"assistant","content":"","refusal":null}')

    def translate(self, batch: Sequence[LoggedEvent]) -> Iterator[str]:
        """Yield the chunks of entries of the log; `finish` is left to `closing`."""
        begin, end = self._begin, self._end
        for _, _, body in batch:
            if body.startswith(TEXT_DELTA) and not self._known:
                tail = body.partition(DELTA)[2]
                self._sent.append(("text", tail))
                yield f'{begin}{{"content":{one_line(tail)}{end}'
            elif not protocol.is_end(body):
                yield from self._rare(body)

    def _rare(self, body: str) -> Iterable[str]:
        if body.startswith(TEXT_DELTA):
            return self._again("text", body.partition(DELTA)[2])
        if body.startswith(REASONING_DELTA):
            tail = body.partition(DELTA)[2]
            return [self._chunk(f'{{"reasoning_content":{tail}')]
        if body.startswith(INPUT_DELTA):
            before, _, tail = body.partition(INPUT)
            call_id = json.loads(before[before.rindex(":") + 1 :])
            index = self._calls.get(call_id)
            return [] if index is None else self._arguments(index, tail[1:-2])
        return self._other(json.loads(body))

    def _other(self, chunk: dict[str, Any]) -> Iterator[str]:
        match chunk["type"]:
            case "start-step":
                self._steps.append(len(self._sent))
            case "data-turn" if "reset_to_step" in chunk["data"]:
                self._begin_again(chunk["data"]["reset_to_step"])
            case "tool-input-start" if chunk["toolName"] in self._client_tools:
                yield from self._call(chunk["toolCallId"], chunk["toolName"])
            case "tool-input-available" if chunk["toolName"] in self._client_tools:
                if chunk["toolCallId"] not in self._calls:  # in a replay from rows it begins here
                    yield from self._call(chunk["toolCallId"], chunk["toolName"])
                    written = chunk["input"] if isinstance(chunk["input"], str) else encode(chunk["input"])
                    yield from self._arguments(self._calls[chunk["toolCallId"]], encode(written)[1:-1])
            case "tool-input-available":
                note = encode(used_tool(chunk["toolName"], "", whole=False) + "\n")
                yield self._chunk(f'{{"reasoning_content":{note}}}')

    def _call(self, call_id: str, name: str) -> Iterator[str]:
        index = self._calls[call_id] = len(self._calls)
        own = ids.client_call_id(self._turn.pk, len(self._steps) - 1, call_id)
        self._new(("call", own))
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": own, "type": "function", "function": function}
        yield self._chunk(encode({"tool_calls": [call]}))

    def _arguments(self, index: int, text: str) -> list[str]:
        self._new((f"arguments {index}", text))
        return [self._chunk(f'{{"tool_calls":[{{"index":{index},"function":{{"arguments":"{text}"}}}}]}}')]

    def _begin_again(self, step: int) -> None:
        """Remember what was sent of the abandoned steps, to compare it with what comes now."""
        begins = self._steps[step] if step < len(self._steps) else len(self._sent)
        inside = [(kind, text[1:-2] if kind == "text" else text) for kind, text in self._sent[begins:]]
        self._known = inside + self._known
        del self._sent[begins:], self._steps[step:]

    def _new(self, sent: tuple[str, str]) -> None:
        if self._known:
            raise AnswerRestarted
        self._sent.append(sent)

    def _again(self, kind: str, tail: str) -> list[str]:
        """Skip what was sent before; return the rest."""
        rest = tail[1:-2]
        while rest and self._known:
            known_kind, known = self._known[0]
            size = min(len(known), len(rest))
            if known_kind != kind or known[:size] != rest[:size]:
                raise AnswerRestarted
            rest = rest[size:]
            self._known[0] = (known_kind, known[size:])
            if not self._known[0][1]:
                self._known.pop(0)
        self._sent.append((kind, tail))
        return [self._chunk(f'{{"content":"{rest}"}}')] if rest else []

    def _chunk(self, delta: str) -> str:
        return f"{self._begin}{one_line(delta)}{self._end}"

    def closing(self, turn: Turn) -> list[str]:
        """Return the last chunks of a turn that has ended without an error."""
        if self._known:
            raise AnswerRestarted
        choice = {
            "index": 0,
            "delta": {},
            "logprobs": None,
            "finish_reason": finish_reason(TurnView.of(turn)),
        }
        base = head(turn, "chat.completion.chunk")
        if not self._include_usage:
            return [data(encode(base | {"choices": [choice]}))]
        return [
            data(encode(base | {"choices": [choice], "usage": None})),
            data(encode(base | {"choices": [], "usage": usage(turn)})),
        ]


def data(body: str) -> str:
    """Return a server-sent event."""
    return f"data: {one_line(body)}\n\n"
