"""Flows for a to-do list: make one, and tick its items off."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llm.offline.describe import describe
from llm.offline.flow_runner import Flow, FlowContext

PENDING, IN_PROGRESS, DONE = "pending", "in_progress", "done"
BETWEEN = re.compile(r"\s*(?:[,;\n]|\band\b)\s*")
Items = list[dict[str, str]]


def make_list(turn: FlowContext) -> Flow:
    texts = [text for text in BETWEEN.split(turn.group("items").rstrip(" .")) if text]
    if not texts:
        return "What should be on the list? Say “make a to-do list: bake, eat”."
    (result,) = yield turn.call("update_todo_list", {"items": with_next(texts, done=())})
    return f"{describe(result)}\n\nSay “tick off {texts[0]}” when that is done."


def tick_off(turn: FlowContext) -> Flow:
    """Mark the named item as done and the next one as in progress."""
    items = recall_items(turn)
    texts = [item["text"] for item in items]
    named = turn.group("item").strip(" .\"“”'").lower()
    found = next((text for text in texts if named in text.lower()), "")
    if not found:
        return f"“{turn.group('item')}” is not on the list." if items else "There is no to-do list yet."
    done = [item["text"] for item in items if item["status"] == DONE]
    (result,) = yield turn.call("update_todo_list", {"items": with_next(texts, done=[*done, found])})
    return describe(result)


def with_next(texts: Sequence[str], *, done: Sequence[str]) -> Items:
    """Return the items; the first that is not done is in progress."""
    following = next((text for text in texts if text not in done), "")
    status = {following: IN_PROGRESS} | dict.fromkeys(done, DONE)
    return [{"text": text, "status": status.get(text, PENDING)} for text in texts]


def recall_items(turn: FlowContext) -> Items:
    """Return the newest list before this turn, or an empty one."""
    before = len(turn.conversation.all_results) - sum(map(len, turn.conversation.rounds))
    lists = [result for result in turn.conversation.all_results[:before] if result.type == "todo_list"]
    items = lists[-1].data.get("items") if lists else None
    return [dict(item) for item in items] if isinstance(items, list) else []
