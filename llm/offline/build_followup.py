"""Continue building an agent after the builder asked a question or suggested a better goal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from llm.offline.conversation import OfflineConversation, OfflineToolResult
from llm.offline.describe import describe
from llm.offline.flow_runner import Flow, FlowContext

BUILDERS = ("create_agent", "edit_agent", "customize_agent")
GIVES_UP = re.compile(r"^\W*(never ?mind|forget (it|about)|stop|cancel|leave it)\b", re.IGNORECASE)
TAKES_A_WHILE = "This takes a while. You can close the page; I'll post here when it is ready."
NEW_REQUEST = re.compile(
    r"^\W*(?:please )?(build|create|make|run|show|list|find|what|who|help|start)\b", re.IGNORECASE
)
AGREES = re.compile(
    r"^\W*(yes|yeah|yep|ok|okay|sure|fine|please do|do that|go ahead|that would do)\b", re.IGNORECASE
)


def answers_question(conversation: OfflineConversation, text: str) -> bool:
    """Return whether the user's message answers the builder's last question."""
    asked = pending(conversation)
    if asked is None or GIVES_UP.match(text):
        return False
    if asked.type == "suggested_goal":
        return bool(AGREES.match(text))
    return not NEW_REQUEST.match(text)


def resume_build(turn: FlowContext) -> Flow:
    """Repeat the builder's call with the user's answer."""
    asked = pending(turn.conversation)
    assert asked is not None
    arguments = dict(last_arguments(before_this_turn(turn.conversation), asked.name))
    if asked.type == "suggested_goal":
        goal = "description" if asked.name == "create_agent" else "changes"
        arguments[goal] = str(asked.data.get("suggested_goal") or "")
    else:
        answers = [str(arguments.get("context") or ""), turn.text]
        arguments["context"] = " ".join(text for text in answers if text)
    (result,) = yield turn.call(asked.name, arguments, say="Thanks, I'll continue with that.")
    if result.type in ("operation_started", "operation_in_progress"):
        return f"{describe(result)}\n\n{TAKES_A_WHILE}"
    return describe(result)


def pending(conversation: OfflineConversation) -> OfflineToolResult | None:
    """Return the builder's question if it was the last tool result before the user's message."""
    results = conversation.results_in(before_this_turn(conversation))
    last = results[-1] if results else None
    if last is None or last.name not in BUILDERS:
        return None
    return last if last.type in ("clarification_needed", "suggested_goal") else None


def before_this_turn(conversation: OfflineConversation) -> Sequence[Mapping[str, Any]]:
    return conversation.messages[: len(conversation.messages) - len(conversation.turn) - 1]


def last_arguments(messages: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    """Return the arguments of the most recent call of a tool."""
    for message in reversed(messages):
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            if function.get("name") == name:
                try:
                    found = json.loads(function.get("arguments") or "{}")
                except ValueError:
                    return {}
                return found if isinstance(found, dict) else {}
    return {}
