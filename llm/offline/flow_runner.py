"""Run a turn as a flow: a generator that yields tool calls, receives their results and returns the answer.

In every round the flow runs from the start with the results already in the conversation; the first calls without
results are the ones to make now. The same conversation therefore always gets the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from re import Match
from typing import Any, TypeAlias

from llm.offline.conversation import OfflineConversation, OfflineToolResult
from llm.offline.reply import OfflineToolCall, Reply, say
from llm.offline.schema_values import fit_arguments

Flow: TypeAlias = Generator[list[OfflineToolCall], list[OfflineToolResult], str]


class NotOffered(Exception):
    """The flow needs a tool that this request does not offer."""


@dataclass(frozen=True, kw_only=True)
class FlowContext:
    """The input of a flow: the conversation, the user's message and the match of the rule."""

    conversation: OfflineConversation
    text: str
    match: Match[str]

    def group(self, name: str) -> str:
        return (self.match.groupdict().get(name) or "").strip()

    def offers(self, tool: str) -> bool:
        return tool in self.conversation.tools

    def call(self, tool: str, arguments: Mapping[str, Any], *, say: str = "") -> list[OfflineToolCall]:
        """Return one tool call with arguments that match the tool's schema; raise NotOffered."""
        if not self.offers(tool):
            raise NotOffered(tool)
        fitted = fit_arguments(arguments, self.conversation.tools[tool], self.text)
        return [OfflineToolCall(name=tool, arguments=json.dumps(fitted, ensure_ascii=False), say=say)]

    def recall(self, *fields: str) -> str:
        """Return the most recent value of one of these fields in the tool results, or ""."""
        for result in reversed(self.conversation.all_results):
            for value in _find(result.data, fields):
                return value
        return ""


def play(flow: Callable[[FlowContext], Flow], turn: FlowContext) -> Reply:
    """Run a flow and return its next text or tool calls."""
    rounds = iter(turn.conversation.rounds)
    steps = flow(turn)
    try:
        calls = next(steps)
        while (results := next(rounds, None)) is not None:
            missing = [OfflineToolResult(name=call.name, data={}, text="") for call in calls[len(results) :]]
            calls = steps.send([*results, *missing])
    except StopIteration as end:
        return say(end.value)
    except NotOffered as tool:
        return say(
            f"That needs “{str(tool).replace('_', ' ')}”, which is not available in this session. "
            "Its permissions may exclude it, it may need a login, or the operator has not set it up."
        )
    words = " ".join(call.say for call in calls if call.say)
    return say(words, tool_calls=tuple(calls))


def _find(value: Any, fields: tuple[str, ...]) -> list[str]:
    """Return values of the fields at the top level, then in nested mappings and first items of lists."""
    if isinstance(value, list):
        return _find(value[0], fields) if value else []
    if not isinstance(value, Mapping):
        return []
    found = [str(value[field]) for field in fields if isinstance(value.get(field), str | int)]
    return found or [text for item in value.values() for text in _find(item, fields)]
