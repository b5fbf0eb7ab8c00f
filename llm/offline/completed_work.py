"""Report the result of background work after the system notice that it has ended."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm.offline.conversation import OfflineConversation, OfflineToolResult, text_of
from llm.offline.describe import describe
from llm.offline.reply import OfflineToolCall, Reply, say
from llm.offline.schema_values import fit_arguments

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
class CompletionNotice:
    """A notice that work has ended, and the tool results since then."""

    note: str
    what: str
    read_since: tuple[OfflineToolResult, ...]


def find_completion_notice(conversation: OfflineConversation) -> CompletionNotice | None:
    """Return the most recent notice that work has ended, unless the user has written since."""
    for index in range(len(conversation.messages) - 1, -1, -1):
        message = conversation.messages[index]
        if message.get("role") == "user":
            return None
        found = _finished(message) if message.get("role") == "system" else None
        if found is not None:
            results = conversation.results_in(conversation.messages[index + 1 :])
            return CompletionNotice(
                note=text_of(message), what=found["what"].lower(), read_since=tuple(results)
            )
    return None


def report(conversation: OfflineConversation, notice: CompletionNotice) -> Reply:
    """Describe the result: as read since the notice, as stored, or call the tool that returns it."""
    if notice.read_since:
        return say(describe(notice.read_since[-1]))
    known = named_result(conversation, notice.note)
    if known is not None and known.data.get("status") != "running" and notice.what != "execution":
        return say(describe(known))
    tool, field = READS.get(notice.what, ("", ""))
    name = _name_in(notice.note, known, field)
    if tool in conversation.tools and name:
        arguments = fit_arguments({field: name}, conversation.tools[tool], notice.note)
        return say(
            "I'll check the result.",
            tool_calls=(OfflineToolCall(name=tool, arguments=json.dumps(arguments)),),
        )
    return (
        say(describe(known or conversation.all_results[-1])) if conversation.all_results else say(notice.note)
    )


def named_result(conversation: OfflineConversation, note: str) -> OfflineToolResult | None:
    """Return the most recent tool result that the notice mentions."""
    for result in reversed(conversation.all_results):
        if any(str(result.data[name]) in note for name in NAMES if result.data.get(name)):
            return result
    return None


def _name_in(note: str, known: OfflineToolResult | None, field: str) -> str:
    if known is not None and known.data.get(field):
        return str(known.data[field])
    found = re.search(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", note)
    return found.group() if found else ""


def _finished(message: Mapping[str, Any]) -> re.Match[str] | None:
    return FINISHED.search(text_of(message)[:MAX_NOTE_CHARACTERS])
