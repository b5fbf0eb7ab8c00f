"""How a request is written for one server: the common OpenAI form, minus what that server has refused before."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from llm.carry import CALL_FIELDS, CARRY, MESSAGE_FIELDS, give_back
from llm.failures import error_object
from llm.types import Request, ToolSpec

OPTIONAL_FIELDS = ("stream_options", "temperature", "user", "response_format")
TOKEN_CAP_FIELDS = ("max_completion_tokens", "max_tokens")
COMMON_WORDS = ("user", "reasoning", "signature")
UNWANTED = re.compile(  # said of a field that was sent, and not of one that is missing
    r"extra[ _](inputs?|fields?|forbidden)|not (permitted|allowed|supported)|does not support|unsupported|unknown|"
    r"unrecogni[sz]ed|unexpected|please remove",
    re.IGNORECASE,
)


class Dialect:
    """What one model of one server has refused; learned from its own 400 answers, kept for the process."""

    def __init__(self, *, is_openai: bool, origin: str = "") -> None:
        self._origin = origin
        self._refused: frozenset[str] = frozenset()
        self._cap_field = TOKEN_CAP_FIELDS[0] if is_openai else TOKEN_CAP_FIELDS[1]

    def write(self, request: Request, model: str) -> bytes:
        """The body of a streaming chat completion request."""
        body: dict[str, Any] = {
            "model": model,
            "messages": give_back(request.messages, self._origin, without=self._refused),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_output_tokens is not None:
            body[self._cap_field] = request.max_output_tokens
        if request.user:
            body["user"] = request.user
        if request.response_format is not None:
            body["response_format"] = request.response_format
        for name in self._refused:
            body.pop(name, None)
        text = json.dumps(body, ensure_ascii=False, default=_plain)
        # half a character is a question mark in a text, but comes back as its escape where it is part of a carry
        exact = any(CARRY in message for message in request.messages)
        return text.encode("utf-8", "backslashreplace" if exact else "replace")

    def learn(self, status: int, body: bytes, sent: bytes) -> bool:
        """Whether the server refused a field that can be left out or renamed; if so, the next request does it."""
        if status not in (400, 422):
            return False
        error = error_object(body) or {"message": body.decode("utf-8", "replace")}
        text = f"{error.get('param') or ''} {error.get('message') or ''}"
        fields = json.loads(sent)
        if self._cap_field in fields and self._cap_field in text:
            self._cap_field = next(name for name in TOKEN_CAP_FIELDS if name != self._cap_field)
            return True
        named = [name for name in OPTIONAL_FIELDS if name in fields and _names(text, name)]
        if UNWANTED.search(text):
            named += [name for name in _carried(fields["messages"]) if _names(text, name)]
        self._refused |= frozenset(named)
        return bool(named)


def _carried(messages: Sequence[Mapping[str, Any]]) -> set[str]:
    """The fields of carries that a request holds."""
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return {name for message in messages for name in MESSAGE_FIELDS & message.keys()} | {
        name for call in calls for name in CALL_FIELDS & call.keys()
    }


def _names(text: str, name: str) -> bool:
    """Whether an error names the field; a common word alone does not, it must be quoted, a path, or the `param`."""
    anywhere = "" if name in COMMON_WORDS else rf"|\b{name}\b"
    return re.search(rf"^{name} |['\"`]{name}['\"`]|\.{name}\b{anywhere}", text) is not None


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent to a model")
