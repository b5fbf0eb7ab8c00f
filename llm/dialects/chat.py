"""OpenAI chat completions, as OpenAI and most other servers speak it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from durable import storable
from llm.answer import MAX_NAME_CHARACTERS, AnswerCollector, GrowingCall, mapping, reported_cost
from llm.carry import CALL_FIELDS, MESSAGE_FIELDS, VOLATILE, give_back
from llm.dialects.base import UNWANTED, Dialect, WrittenJSON, names_field, written_json
from llm.prefix import PrefixedMessages, joined
from llm.types import Delta, Request, ToolSpec

TOKEN_CAP_FIELDS = ("max_completion_tokens", "max_tokens")


class ChatDialect(Dialect):
    """Writes chat completion requests; the carry is put into the fields of messages and calls it came in."""

    path = "/chat/completions"
    optional = ("stream_options", "temperature", "user", "response_format", "reasoning_effort")

    def __init__(self, *, origin: str = "", is_openai: bool = False, effort: str = "") -> None:
        super().__init__(origin=origin, is_openai=is_openai, effort=effort)
        self._cap_field = TOKEN_CAP_FIELDS[0] if is_openai else TOKEN_CAP_FIELDS[1]

    def body(self, request: Request, model: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": model,
            "messages": self._messages(request.messages),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            if request.tool_choice is not None:
                body["tool_choice"] = request.tool_choice
            if request.parallel_tool_calls is not None:
                body["parallel_tool_calls"] = request.parallel_tool_calls
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_output_tokens is not None:
            body[self._cap_field] = request.max_output_tokens
        if request.user:
            body["user"] = request.user
        if request.response_format is not None:
            body["response_format"] = request.response_format
        if self._effort:
            body["reasoning_effort"] = self._effort
        return body

    def answer(self, on_delta: Callable[[Delta], None]) -> AnswerCollector:
        return ChatAnswer(on_delta)

    def _messages(self, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]] | WrittenJSON:
        """Return the messages as sent; those with a prefix for this model as JSON, the prefix as written before."""
        if isinstance(messages, PrefixedMessages) and messages.prefix.origin == self._origin:
            prefix = messages.prefix.written(self._refused, self._written)
            return WrittenJSON(
                f"[{joined(self._written(messages.opening), prefix, self._written(messages.rest))}]"
            )
        given = give_back(messages, self._origin, without=self._refused)
        return [_plain_message(message) for message in given]

    def _written(self, messages: Sequence[Mapping[str, Any]]) -> str:
        given = give_back(messages, self._origin, without=self._refused)
        return written_json([_plain_message(message) for message in given])[1:-1]

    def _adapt(self, text: str, sent: Mapping[str, Any]) -> bool:
        if self._cap_field in sent and self._cap_field in text:
            self._cap_field = next(name for name in TOKEN_CAP_FIELDS if name != self._cap_field)
            return True
        if "response_format" in sent and re.search(r"json_schema|structured output", text, re.IGNORECASE):
            self._refused |= {"response_format"}
            return True
        carried: list[str] = []
        if UNWANTED.search(text):
            carried = [name for name in _carried(sent["messages"]) if names_field(text, name)]
            self._refused |= frozenset(carried)
        return super()._adapt(text, sent) or bool(carried)


class ChatAnswer(AnswerCollector):
    """Reads the chunks of a chat completion, in all the shapes that servers give them."""

    def _take_chunk(self, chunk: Mapping[str, Any]) -> None:
        if chunk.get("error"):
            raise self._error(chunk["error"])
        choices = chunk.get("choices")
        if choices:
            self._take_choice(choices[0])
        elif choices is None and "usage" not in chunk and self.chunks == 0:
            raise ValueError("it has no choices")
        self.chunks += 1
        usage = chunk.get("usage") or mapping(chunk.get("x_groq")).get("usage")
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

    def _take_call(self, piece: Mapping[str, Any]) -> None:
        self._flush()
        function = piece.get("function") or {}
        name = storable.text(str(function.get("name") or ""), most=MAX_NAME_CHARACTERS)
        call = self._call_for(piece, name)
        self._carry.take_call(call.index, piece)
        self._add_arguments(call, function.get("arguments"))

    def _call_for(self, piece: Mapping[str, Any], name: str) -> GrowingCall:
        """Return the call of this piece: by index, else the newest; a new id with a name is always a new call."""
        wire_id = storable.text(str(piece.get("id") or ""))
        wire_index = piece.get("index")
        call = self._known_call(wire_index, wire_id, name)
        if call is None:
            return self._open_call(wire_id=wire_id, wire_index=wire_index, name=name)
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

    def _take_usage(self, usage: Mapping[str, Any]) -> None:
        details = mapping(usage.get("prompt_tokens_details"))
        believed = self._set_usage(
            input=usage.get("prompt_tokens"),
            output=usage.get("completion_tokens"),
            cached=details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens"),
            written=details.get("cache_write_tokens"),
            reasoning=mapping(usage.get("completion_tokens_details")).get("reasoning_tokens"),
        )
        cost = reported_cost(usage.get("cost")) if believed else None
        self.reported_cost = self.reported_cost if cost is None else cost


def _carried(messages: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the fields of carries in a request."""
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return {name for message in messages for name in MESSAGE_FIELDS & message.keys()} | {
        name for call in calls for name in CALL_FIELDS & call.keys()
    }


def _plain_message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return (
        {name: value for name, value in message.items() if name != VOLATILE}
        if VOLATILE in message
        else message
    )


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
