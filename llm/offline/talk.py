"""A turn of the offline model as a flow: a generator that yields tool calls, gets their results, and returns words.

A flow is played from its start in every round, with the results that the conversation already holds; the first
calls without results are what the model asks for now. So the same conversation always gives the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from re import Match
from typing import Any, TypeAlias

from llm.offline.conversation import Conversation, ToolResult
from llm.offline.fit import fit_arguments
from llm.offline.reply import Call, Reply, say

Flow: TypeAlias = Generator[list[Call], list[ToolResult], str]


class NotOffered(Exception):
    """The flow needs a tool that this request does not offer."""


@dataclass(frozen=True, kw_only=True)
class Talk:
    """What a flow works with: the conversation, the words of this turn, and how the rule matched them."""

    conversation: Conversation
    text: str
    match: Match[str]

    def group(self, name: str) -> str:
        return (self.match.groupdict().get(name) or "").strip()

    def offers(self, tool: str) -> bool:
        return tool in self.conversation.tools

    def call(self, tool: str, arguments: Mapping[str, Any], *, say: str = "") -> list[Call]:
        """One tool call, with arguments that fit the tool's schema."""
        if not self.offers(tool):
            raise NotOffered(tool)
        fitted = fit_arguments(arguments, self.conversation.tools[tool], self.text)
        return [Call(name=tool, arguments=json.dumps(fitted, ensure_ascii=False), say=say)]

    def recall(self, *fields: str) -> str:
        """The newest value of one of these fields in any tool result of the conversation."""
        for result in reversed(self.conversation.all_results):
            for value in _find(result.data, fields):
                return value
        return ""


def play(flow: Callable[[Talk], Flow], talk: Talk) -> Reply:
    """The flow's next words or calls."""
    rounds = iter(talk.conversation.rounds)
    steps = flow(talk)
    try:
        calls = next(steps)
        while (results := next(rounds, None)) is not None:
            missing = [ToolResult(name=call.name, data={}, text="") for call in calls[len(results) :]]
            calls = steps.send([*results, *missing])
    except StopIteration as end:
        return say(end.value)
    except NotOffered as tool:
        return say(
            f"That needs the tool `{tool}`, and this set-up does not offer it in this session. "
            "It may be switched off by the session's permissions, or need a login."
        )
    words = " ".join(call.say for call in calls if call.say)
    return say(words, tool_calls=tuple(calls))


def _find(value: Any, fields: tuple[str, ...]) -> list[str]:
    """Values of the fields at the top, then in nested mappings, then in the first items of lists."""
    if isinstance(value, list):
        return _find(value[0], fields) if value else []
    if not isinstance(value, Mapping):
        return []
    found = [str(value[field]) for field in fields if isinstance(value.get(field), str | int)]
    return found or [text for item in value.values() for text in _find(item, fields)]
