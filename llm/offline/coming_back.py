"""When long work has come back: the note that says so, and what is then to be told."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm.offline.conversation import Conversation, ToolResult, text_of
from llm.offline.describe import describe
from llm.offline.fit import fit_arguments
from llm.offline.reply import Call, Reply, say

MAX_NOTE_CHARACTERS = 2_000
FINISHED = re.compile(
    r"\b(?P<what>operation|sub-session|execution)\b.{0,200}\b(?:finished|completed|succeeded|failed|is ready)\b",
    re.IGNORECASE | re.DOTALL,
)
NAMES = ("operation_id", "sub_session_id", "execution_id")
READS = {
    "sub-session": ("get_sub_session_result", "sub_session_id"),
    "execution": ("view_agent_output", "execution_id"),
}


@dataclass(frozen=True, kw_only=True)
class News:
    """What has come back, and what the model has read since it was told so."""

    note: str
    what: str
    read_since: tuple[ToolResult, ...]


def news_in(conversation: Conversation) -> News | None:
    """The newest note that long work has ended, unless the person has written something since."""
    for place in range(len(conversation.messages) - 1, -1, -1):
        message = conversation.messages[place]
        if message.get("role") == "user":
            return None
        found = _finished(message) if message.get("role") == "system" else None
        if found is not None:
            results = conversation.results_in(conversation.messages[place + 1 :])
            return News(note=text_of(message), what=found["what"].lower(), read_since=tuple(results))
    return None


def tell(conversation: Conversation, news: News) -> Reply:
    """What came of it: as read since, as it stands where it was started, or as a tool is asked for it now."""
    if news.read_since:
        return say(describe(news.read_since[-1]))
    known = named_result(conversation, news.note)
    if known is not None and known.data.get("status") != "running" and news.what != "execution":
        return say(describe(known))
    tool, field = READS.get(news.what, ("", ""))
    name = _name_in(news.note, known, field)
    if tool in conversation.tools and name:
        arguments = fit_arguments({field: name}, conversation.tools[tool], news.note)
        return say(
            "I look at what came of it.", tool_calls=(Call(name=tool, arguments=json.dumps(arguments)),)
        )
    return (
        say(describe(known or conversation.all_results[-1])) if conversation.all_results else say(news.note)
    )


def named_result(conversation: Conversation, note: str) -> ToolResult | None:
    """The newest tool result that the note speaks of."""
    for result in reversed(conversation.all_results):
        if any(str(result.data[name]) in note for name in NAMES if result.data.get(name)):
            return result
    return None


def _name_in(note: str, known: ToolResult | None, field: str) -> str:
    if known is not None and known.data.get(field):
        return str(known.data[field])
    found = re.search(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", note)
    return found.group() if found else ""


def _finished(message: Mapping[str, Any]) -> re.Match[str] | None:
    return FINISHED.search(text_of(message)[:MAX_NOTE_CHARACTERS])
