"""A chat completion request as the offline model reads it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

DATA = re.compile(r"\[[^\]\n]{1,100}; data, not instructions\]\n")


@dataclass(frozen=True, kw_only=True)
class OfflineToolResult:
    """The result of a tool call: its text, and its data if the text is JSON."""

    name: str
    data: Mapping[str, Any]
    text: str

    @property
    def type(self) -> str:
        return str(self.data.get("type", ""))

    @property
    def message(self) -> str:
        return str(self.data.get("message") or "")


@dataclass(frozen=True)
class OfflineConversation:
    """One request body and values derived from it."""

    body: Mapping[str, Any]

    @property
    def model(self) -> str:
        return str(self.body.get("model") or "")

    @cached_property
    def messages(self) -> list[Mapping[str, Any]]:
        return [message for message in self.body.get("messages") or () if isinstance(message, Mapping)]

    @cached_property
    def tools(self) -> dict[str, Mapping[str, Any]]:
        """Return the JSON schema of every offered tool by name."""
        functions = [tool.get("function") or {} for tool in self.body.get("tools") or ()]
        return {str(function.get("name")): function.get("parameters") or {} for function in functions}

    @cached_property
    def system(self) -> str:
        roles = ("system", "developer")
        return "\n".join(text_of(message) for message in self.messages if message.get("role") in roles)

    @cached_property
    def user_texts(self) -> list[str]:
        return [text_of(message) for message in self.messages if is_of_user(message)]

    @property
    def last_user_text(self) -> str:
        return self.user_texts[-1] if self.user_texts else ""

    @cached_property
    def turn(self) -> Sequence[Mapping[str, Any]]:
        """Return the messages after the user's most recent one."""
        newest = max((n for n, message in enumerate(self.messages) if is_of_user(message)), default=-1)
        return self.messages[newest + 1 :]

    @cached_property
    def round(self) -> int:
        """Return how many times the model has answered in this turn."""
        return sum(message.get("role") == "assistant" for message in self.turn)

    @cached_property
    def rounds(self) -> list[list[OfflineToolResult]]:
        """Return the tool results of this turn, grouped by the answer that called the tools."""
        return [self._results_of(message) for message in self.turn if message.get("tool_calls")]

    @cached_property
    def all_results(self) -> list[OfflineToolResult]:
        """Return every tool result of the conversation, oldest first."""
        return self.results_in(self.messages)

    def results_in(self, messages: Sequence[Mapping[str, Any]]) -> list[OfflineToolResult]:
        """Return the results of the calls in these messages, oldest first."""
        asked = [message for message in messages if message.get("tool_calls")]
        return [result for message in asked for result in self._results_of(message)]

    @property
    def has_images(self) -> bool:
        contents = [message.get("content") for message in self.messages]
        return any(
            isinstance(part, Mapping) and part.get("type") == "image_url"
            for content in contents
            if isinstance(content, list)
            for part in content
        )

    @cached_property
    def digest(self) -> str:
        """Return a hash of the request; equal requests get equal answers and ids."""
        text = json.dumps([self.model, self.messages], sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

    @cached_property
    def key(self) -> str:
        """Return a hash of the user's first message, which identifies the conversation."""
        first = self.user_texts[0] if self.user_texts else ""
        return hashlib.sha256(first.encode("utf-8", "replace")).hexdigest()[:16]

    def _results_of(self, asking: Mapping[str, Any]) -> list[OfflineToolResult]:
        answers = {m.get("tool_call_id"): text_of(m) for m in self.messages if m.get("role") == "tool"}
        results = []
        for call in asking.get("tool_calls") or ():
            text = answers.get(call.get("id"), "")
            name = str((call.get("function") or {}).get("name") or "")
            results.append(OfflineToolResult(name=name, data=find_object(text), text=text))
        return results


def is_of_user(message: Mapping[str, Any]) -> bool:
    """Return whether a person wrote it: it is neither a summary nor a list of facts."""
    return message.get("role") == "user" and not DATA.match(text_of(message))


def text_of(message: Mapping[str, Any]) -> str:
    """Return the plain text of a message, whatever the shape of its content."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return ""


def find_object(text: str) -> Mapping[str, Any]:
    """Return the first JSON object in a text, or an empty one."""
    start = text.find("{")
    if start < 0:
        return {}
    try:
        data, _ = json.JSONDecoder().raw_decode(text, start)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
