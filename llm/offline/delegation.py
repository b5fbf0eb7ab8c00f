"""What the offline model does with work that goes on elsewhere: hand it over, look after it, stop it."""

from __future__ import annotations

import re
from typing import Any

from llm.offline.conversation import ToolResult
from llm.offline.describe import describe
from llm.offline.talk import Flow, Talk

WAIT_SECONDS = 60
LOOK_SECONDS = 5
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


def start_sub_session(talk: Talk) -> Flow:
    """One task, or several that are set apart by semicolons; waited for unless the person says otherwise."""
    said = talk.group("prompt") or talk.text
    background = bool(IN_BACKGROUND.search(talk.text))
    prompts = [clean(prompt) for prompt in EACH.split(said)][:MAX_AT_ONCE]
    tasks = [prompt for prompt in prompts if prompt] or [talk.text]
    words = "I start a session of its own for that." if len(tasks) == 1 else "I start a session for each."
    calls = []
    for number, prompt in enumerate(tasks):
        arguments = {"prompt": prompt, **waiting(background=background)}
        calls += talk.call("run_sub_session", arguments, say=words if number == 0 else "")
    results = yield calls
    return "\n\n".join(tell(result) for result in results)


def start_long_work(talk: Talk) -> Flow:
    """Work that goes on while nobody watches; it comes back by itself."""
    prompt = clean(talk.group("prompt")) or "count to 300"
    arguments = {"prompt": prompt, **waiting(background=True)}
    (result,) = yield talk.call("run_sub_session", arguments, say="I start it and do not wait.")
    return f"{tell(result)}\n\nIt goes on when you close this page. Ask me “is it done?” whenever you like."


def check_work(talk: Talk) -> Flow:
    """Look after whatever long work this conversation started last."""
    operation, session = talk.recall("operation_id"), talk.recall("sub_session_id")
    if session and talk.offers("get_sub_session_result"):
        arguments = {"sub_session_id": session, "wait_if_running": LOOK_SECONDS, "include_progress": True}
        (result,) = yield talk.call("get_sub_session_result", arguments)
    elif operation:
        (result,) = yield talk.call("check_operation_status", {"operation_id": operation})
    else:
        return "Nothing that I started in this conversation is running."
    return describe(result)


def stop_work(talk: Talk) -> Flow:
    session = talk.recall("sub_session_id")
    if not session:
        return "I have not started a sub-session in this conversation."
    arguments = {"sub_session_id": session, "wait_if_running": 0, "cancel": True}
    (result,) = yield talk.call("get_sub_session_result", arguments, say="I stop it.")
    return describe(result)


def research(talk: Talk) -> Flow:
    """Without a network or a language model: what the documentation says about it, and an honest word about that."""
    topic = clean(talk.group("topic")) or talk.text
    (found,) = yield talk.call("search_docs", {"query": topic[:200]}, say=f"I look up “{topic[:200]}”.")
    return (
        f"{describe(found)}\n\nThat is what the product's own documentation says: the offline model has no other "
        "source. With a real model, the same request is researched in earnest."
    )


def waiting(*, background: bool) -> dict[str, Any]:
    return {"wait_for_result": 0, "notify": True} if background else {"wait_for_result": WAIT_SECONDS}


def clean(prompt: str) -> str:
    """The task without the words about how it is to be done."""
    return REPORT_BACK.sub("", IN_BACKGROUND.sub("", prompt)).strip(" \t\n,;")


def tell(result: ToolResult) -> str:
    """What a person wants to know; of one that runs, the message is meant for the model."""
    if result.data.get("status") != "running":
        return describe(result)
    link = result.data.get("link")
    lines = ["A session of its own works on that now." + (f" See {link}" if link else "")]
    if result.data.get("notify"):
        lines.append("I come back here when it is done.")
    return "\n\n".join(lines)
