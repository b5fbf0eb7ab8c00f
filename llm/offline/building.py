"""How the offline model goes on when the building of an agent came back with questions or a better goal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from llm.offline.conversation import Conversation, ToolResult
from llm.offline.describe import describe
from llm.offline.talk import Flow, Talk

BUILDERS = ("create_agent", "edit_agent", "customize_agent")
GIVES_UP = re.compile(r"^\W*(never ?mind|forget (it|about)|stop|cancel|leave it)\b", re.IGNORECASE)
NEW_REQUEST = re.compile(
    r"^\W*(?:please )?(build|create|make|run|show|list|find|what|who|help|start)\b", re.IGNORECASE
)
AGREES = re.compile(
    r"^\W*(yes|yeah|yep|ok|okay|sure|fine|please do|do that|go ahead|that would do)\b", re.IGNORECASE
)


def answers_question(conversation: Conversation, text: str) -> bool:
    """Whether the person's words answer what a builder asked last."""
    asked = pending(conversation)
    if asked is None or GIVES_UP.match(text):
        return False
    if asked.type == "suggested_goal":
        return bool(AGREES.match(text))
    return not NEW_REQUEST.match(text)


def go_on(talk: Talk) -> Flow:
    """The same call again, with what the person said."""
    asked = pending(talk.conversation)
    assert asked is not None
    arguments = dict(last_arguments(before_this_turn(talk.conversation), asked.name))
    if asked.type == "suggested_goal":
        goal = "description" if asked.name == "create_agent" else "changes"
        arguments[goal] = str(asked.data.get("suggested_goal") or "")
    else:
        said = [str(arguments.get("context") or ""), talk.text]
        arguments["context"] = " ".join(word for word in said if word)
    (result,) = yield talk.call(asked.name, arguments, say="Thank you. I go on with that.")
    if result.type in ("operation_started", "operation_in_progress"):
        return f"{describe(result)}\n\nThis takes a while. You may close the page; I come back here when it is ready."
    return describe(result)


def pending(conversation: Conversation) -> ToolResult | None:
    """The question of a builder that was the last thing to come out before the person wrote."""
    results = conversation.results_in(before_this_turn(conversation))
    last = results[-1] if results else None
    if last is None or last.name not in BUILDERS:
        return None
    return last if last.type in ("clarification_needed", "suggested_goal") else None


def before_this_turn(conversation: Conversation) -> Sequence[Mapping[str, Any]]:
    return conversation.messages[: len(conversation.messages) - len(conversation.turn) - 1]


def last_arguments(messages: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    """The arguments of the newest call of a tool."""
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
