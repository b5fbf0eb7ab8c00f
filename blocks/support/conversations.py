"""Conversations passed between nodes as JSON: select the messages that can be sent to a model."""

from __future__ import annotations

from blocks.coercion import as_text
from blocks.schema import JSON, Object, Objects

ROLES = frozenset({"system", "user", "assistant", "tool"})


def usable_messages(messages: list[JSON] | None) -> Objects:
    """Return the valid messages in the form a model accepts; others are dropped."""
    usable: Objects = []
    for message in messages or []:
        if isinstance(message, dict) and message.get("role") in ROLES:
            cleaned = clean(message)
            if cleaned is not None:
                usable.append(cleaned)
    return usable


def clean(message: Object) -> Object | None:
    content = message.get("content")
    text = as_text(content) if content is not None else ""
    role = message["role"]
    if role == "assistant" and isinstance(message.get("tool_calls"), list) and message["tool_calls"]:
        return {"role": role, "content": text, "tool_calls": message["tool_calls"]}
    if role == "tool":
        call_id = message.get("tool_call_id")
        return {"role": role, "content": text, "tool_call_id": str(call_id)} if call_id else None
    return {"role": role, "content": text} if text else None


def pending_calls(messages: Objects) -> list[str]:
    """Return the ids of tool calls without a result, in order."""
    asked: dict[str, None] = {}
    for message in messages:
        for call in message.get("tool_calls") or []:
            if isinstance(call, dict) and call.get("id"):
                asked[str(call["id"])] = None
        if message["role"] == "tool":
            asked.pop(str(message["tool_call_id"]), None)
    return list(asked)
