"""What a client asks for, whichever of OpenAI's two protocols it speaks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat.turn_options import TurnOptions

ChatMessage = dict[str, Any]  # in the format of chat completions


@dataclass(frozen=True, kw_only=True)
class ClientToolResult:
    """The result of a tool that the client ran."""

    call_id: str
    output: str


@dataclass(frozen=True, kw_only=True)
class ClientFile:
    """A file inside a message, as a data: URL or a reference to the workspace."""

    url: str
    filename: str = ""

    def as_part(self) -> dict[str, Any]:
        return {"url": self.url, "filename": self.filename}


@dataclass(frozen=True, kw_only=True)
class ClientAsk:
    """One request. `history` is everything the client sent before its new input, without instructions."""

    model: str
    options: TurnOptions
    history: Sequence[ChatMessage] = ()
    results: Sequence[ClientToolResult] = ()
    text: str = ""
    files: Sequence[ClientFile] = ()
    has_message: bool = True  # False if only results of tools were sent
    stream: bool = False
    background: bool = False
    include_usage: bool = False
    store: bool = True
    metadata: Mapping[str, str] = field(default_factory=dict)
    conversation: str = ""
    previous_response_id: str = ""


def new_input(
    messages: Sequence[ChatMessage],
) -> tuple[Sequence[ChatMessage], list[ClientToolResult], ChatMessage | None]:
    """Split messages into what came before, the results of tools that follow it, and the person's new message."""
    rest = list(messages)
    last = rest.pop() if rest and rest[-1]["role"] == "user" else None
    results: list[ClientToolResult] = []
    while rest and rest[-1]["role"] == "tool":
        message = rest.pop()
        results.insert(0, ClientToolResult(call_id=message["tool_call_id"], output=message["content"]))
    return rest, results, last


def hash_of(messages: Iterable[ChatMessage]) -> str:
    """Return the hash of what the client itself said: its messages and results, not the answers."""
    said = [
        [message["role"], message.get("tool_call_id", ""), message["content"]]
        for message in messages
        if message["role"] in ("user", "tool")
    ]
    if not said:
        return ""
    return hashlib.sha256(json.dumps(said, ensure_ascii=True).encode()).hexdigest()


def last_answer(messages: Sequence[ChatMessage]) -> str | None:
    """Return the text of the answer that the history ends with; None if it ends otherwise."""
    if not messages or messages[-1]["role"] != "assistant":
        return None
    return messages[-1].get("content") or ""
