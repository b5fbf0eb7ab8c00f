"""Flows for delegated work: start a sub-session, check on it, stop it."""

from __future__ import annotations

import re
from typing import Any

from llm.offline.conversation import OfflineToolResult
from llm.offline.describe import describe
from llm.offline.flow_runner import Flow, FlowContext

WAIT_SECONDS = 60
CHECK_SECONDS = 5
MAX_AT_ONCE = 5
IN_BACKGROUND = re.compile(
    r"[,;]?\s*\b(?:in the background|without waiting|(?:and )?(?:do not|don't) wait(?: for it)?|"
    r"(?:and )?(?:tell me|let me know|come back|report back)(?: (?:to me|here))?"
    r" (?:when|once|as soon as)\b.{0,40})",
    re.IGNORECASE | re.DOTALL,
)
REPORT_BACK = re.compile(
    r"[,;]?\s*\b(?:and )?(?:report|come) back(?: (?:to me|here))?[.!]*\s*$", re.IGNORECASE
)
EACH = re.compile(r"\s*;\s*(?:and\s+)?(?:one\s+)?(?:to\s+)?", re.IGNORECASE)


def start_sub_session(turn: FlowContext) -> Flow:
    """Start a sub-session for each task, separated by semicolons, and wait unless the user asked not to."""
    request = turn.group("prompt") or turn.text
    background = bool(IN_BACKGROUND.search(turn.text))
    prompts = [clean(prompt) for prompt in EACH.split(request)][:MAX_AT_ONCE]
    tasks = [prompt for prompt in prompts if prompt] or [turn.text]
    words = "I'll start a separate session for that." if len(tasks) == 1 else "I'll start a session for each."
    calls = []
    for number, prompt in enumerate(tasks):
        arguments = {"prompt": prompt, **waiting(background=background)}
        calls += turn.call("run_sub_session", arguments, say=words if number == 0 else "")
    results = yield calls
    return "\n\n".join(describe_session(result) for result in results)


def start_long_work(turn: FlowContext) -> Flow:
    """Start work in the background; the result is posted here when it is done."""
    prompt = clean(turn.group("prompt")) or "count to 300"
    arguments = {"prompt": prompt, **waiting(background=True)}
    (result,) = yield turn.call("run_sub_session", arguments, say="I'll start it in the background.")
    return f"{describe_session(result)}\n\nIt keeps running if you close this page. Ask me “is it done?” at any time."


def check_work(turn: FlowContext) -> Flow:
    """Check the work that this conversation started last."""
    operation, session = turn.recall("operation_id"), turn.recall("sub_session_id")
    if session and turn.offers("get_sub_session_result"):
        arguments = {"sub_session_id": session, "wait_if_running": CHECK_SECONDS, "include_progress": True}
        (result,) = yield turn.call("get_sub_session_result", arguments)
    elif operation:
        (result,) = yield turn.call("check_operation_status", {"operation_id": operation})
    else:
        return "I have not started anything in this conversation that could still be running."
    return describe(result)


def stop_work(turn: FlowContext) -> Flow:
    session = turn.recall("sub_session_id")
    if not session:
        return "I have not started a sub-session in this conversation."
    arguments = {"sub_session_id": session, "wait_if_running": 0, "cancel": True}
    (result,) = yield turn.call("get_sub_session_result", arguments, say="I'll stop it.")
    return describe(result)


def research(turn: FlowContext) -> Flow:
    """Search the documentation, and say that the offline model has no other source."""
    topic = clean(turn.group("topic")) or turn.text
    (found,) = yield turn.call("search_docs", {"query": topic[:200]}, say=f"I'll look up “{topic[:200]}”.")
    return (
        f"{describe(found)}\n\nThis comes from the product's own documentation, the only source the offline model has. "
        "A real language model can research the same request properly."
    )


def waiting(*, background: bool) -> dict[str, Any]:
    return {"wait_for_result": 0, "notify": True} if background else {"wait_for_result": WAIT_SECONDS}


def clean(prompt: str) -> str:
    """Return the task without the words about how to run it."""
    return REPORT_BACK.sub("", IN_BACKGROUND.sub("", prompt)).strip(" \t\n,;")


def describe_session(result: OfflineToolResult) -> str:
    """Describe a sub-session for the user; the message of a running one is meant for the model."""
    if result.data.get("status") != "running":
        return describe(result)
    link = result.data.get("link")
    lines = ["A separate session is working on that now." + (f" See {link}" if link else "")]
    if result.data.get("notify"):
        lines.append("I'll post here when it is done.")
    return "\n\n".join(lines)
