"""Encode replies as chat completions: the chunks of a stream, or the whole answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from llm.offline.conversation import OfflineConversation
from llm.offline.reply import OfflineToolCall, Reply
from llm.tokens import estimate_message_tokens, estimate_tokens

DONE = b"data: [DONE]\n\n"
CREATED = 1_700_000_000  # constant, so that the same request gets the same bytes
HUGE_CHARACTERS = 4 * 1024 * 1024


class Wire:
    """Encodes one reply in the protocol."""

    def __init__(self, conversation: OfflineConversation, reply: Reply) -> None:
        self._reply = reply
        self._conversation = conversation
        self._id = f"chatcmpl-{conversation.digest[:24]}"
        self._model = conversation.model or "offline"
        head = {"id": self._id, "object": "chat.completion.chunk", "created": CREATED, "model": self._model}
        start = json.dumps(head)[:-1]
        self._before = f'data: {start}, "choices": [{{"index": 0, "delta": '.encode()
        self._after = b', "finish_reason": null}]}\n\n'
        self._start = start

    def delta(self, delta: dict[str, Any]) -> bytes:
        return self._before + json.dumps(delta).encode() + self._after

    def pieces(self) -> Iterator[bytes]:
        """Yield one event per piece: reasoning, text, tool calls."""
        reply = self._reply
        if reply.reasoning:
            yield self.delta({"reasoning_content": reply.reasoning})
        if reply.fault and reply.fault.nonsense == "huge_chunk":
            text = reply.text or "x"
            yield self.delta({"content": text * (HUGE_CHARACTERS // len(text))})
        else:
            for piece in reply.pieces:
                yield self.delta({"content": piece})
        for index, call in enumerate(reply.tool_calls):
            head = {
                "id": self.call_id(index),
                "type": "function",
                "function": {"name": call.name, "arguments": ""},
            }
            yield self.delta({"tool_calls": [{"index": index, **head}]})
            yield self.delta(
                {"tool_calls": [{"index": index, "function": {"arguments": self._arguments(call)}}]}
            )

    def finish(self) -> bytes:
        choice = {"index": 0, "delta": {}, "finish_reason": self.finish_reason}
        return f'data: {self._start}, "choices": [{json.dumps(choice)}]}}\n\n'.encode()

    def usage_event(self) -> bytes:
        return f'data: {self._start}, "choices": [], "usage": {json.dumps(self.usage())}}}\n\n'.encode()

    def error_event(self) -> bytes:
        return b'data: {"error": {"message": "The offline model was told to fail here.", "type": "server_error"}}\n\n'

    def whole(self) -> dict[str, Any]:
        """Return the answer to a request without `stream`."""
        message: dict[str, Any] = {"role": "assistant", "content": self._reply.text or None}
        if self._reply.reasoning:
            message["reasoning_content"] = self._reply.reasoning
        if self._reply.tool_calls:
            message["tool_calls"] = [
                {
                    "id": self.call_id(index),
                    "type": "function",
                    "function": {"name": call.name, "arguments": self._arguments(call)},
                }
                for index, call in enumerate(self._reply.tool_calls)
            ]
        answer = {
            "id": self._id,
            "object": "chat.completion",
            "created": CREATED,
            "model": self._model,
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
        }
        return answer if self._reply.usage == {} else answer | {"usage": self.usage()}

    @property
    def finish_reason(self) -> str:
        return self._reply.finish_reason or ("tool_calls" if self._reply.tool_calls else "stop")

    def call_id(self, index: int) -> str:
        return self._reply.tool_calls[index].id or f"call_{self._conversation.digest[:20]}{index}"

    def usage(self) -> dict[str, Any]:
        if self._reply.usage is not None:
            return self._reply.usage
        calls = "".join(call.name + call.arguments for call in self._reply.tool_calls)
        sent = estimate_message_tokens(self._conversation.messages)
        received = estimate_tokens(self._reply.text + self._reply.reasoning + calls)
        return {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}

    def _arguments(self, call: OfflineToolCall) -> str:
        fault = self._reply.fault
        if fault and fault.nonsense == "bad_tool_json":
            return call.arguments[: max(1, len(call.arguments) // 2)]
        return call.arguments
