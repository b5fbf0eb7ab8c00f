"""What the offline model does with tools: one flow per thing that the tour asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from llm.offline.building import before_this_turn
from llm.offline.conversation import ToolResult, find_object
from llm.offline.describe import describe
from llm.offline.talk import Flow, Talk

WAIT_SECONDS = 60
QUOTED = re.compile(r"[\"“'`]([^\"”'`]+)[\"”'`]")
SIGN = re.compile(r"[=:]")
VALUE = re.compile(r"\s*+(?:\"[^\"]*\"|'[^']*'|[^,;\n]+)")
FILE_NAME = re.compile(r"[\w./-]+\.[A-Za-z0-9]{1,5}\b")
WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
RUN_TIME = re.compile(
    r"yesterday|today|latest|(?:last|past|this) (?:hour|day|week|month|year)|"
    r"(?:last|past) \d+ (?:minute|hour|day|week|month)s?|\d+ (?:hour|day|week|month)s? ago|"
    rf"(?:since |last )?{WEEKDAY}|\d{{4}}-\d{{2}}-\d{{2}}(?:T[\d:.+Z-]+)?",
    re.IGNORECASE,
)
OWN_AGENT = re.compile(r"\bmy (?P<name>[\w -]{1,60}?) agent\b", re.IGNORECASE)
HOURS = re.compile(r"\bat (\d{1,2})(?::(\d{2}))?\s*(am|pm)?", re.IGNORECASE)
DAYS = {"monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6, "sunday": 0}


def build_agent(talk: Talk) -> Flow:
    """Read the guide, then have the agent built; the result may come later, as an operation."""
    goal = talk.group("goal") or talk.text
    if talk.offers("get_agent_building_guide"):
        yield talk.call("get_agent_building_guide", {}, say="I read the building guide first.")
    arguments: dict[str, Any] = {"description": goal, "save": True}
    part = OWN_AGENT.search(goal)
    if part and talk.offers("find_library_agent"):
        (found,) = yield talk.call(
            "find_library_agent", {"query": part["name"]}, say="I look for that agent."
        )
        if agent := _first_id(found, "agents"):
            arguments["library_agent_ids"] = [agent]
    (result,) = yield talk.call("create_agent", arguments, say="Now I have it built.")
    return _built(result)


def customize_agent(talk: Talk) -> Flow:
    """Make an agent of the store one's own, with changes."""
    arguments = {"store_slug": talk.group("slug"), "modifications": talk.group("changes") or talk.text}
    (result,) = yield talk.call("customize_agent", arguments, say="I make it your own.")
    return _built(result)


def edit_agent(talk: Talk) -> Flow:
    agent = talk.recall("agent_id", "library_agent_id")
    if not agent:
        return "Which agent shall I change? Build one first, or find it with “find my … agent”."
    if talk.offers("get_agent_building_guide"):
        yield talk.call("get_agent_building_guide", {})
    (result,) = yield talk.call("edit_agent", {"agent_id": agent, "changes": talk.text})
    return _built(result)


def run_agent(talk: Talk) -> Flow:
    """Run the agent of this conversation, or find the named one in the library first."""
    name = _agent_name(talk)
    agent = "" if name else talk.recall("library_agent_id", "agent_id")
    if not agent:
        (found,) = yield talk.call(
            "find_library_agent", {"query": name or talk.text[:100]}, say="I look for it."
        )
        agent = _first_id(found, "agents")
        if not agent:
            return describe(found)
    inputs = read_inputs(talk.group("inputs"))
    arguments: dict[str, Any] = {"library_agent_id": agent, "wait_for_result": WAIT_SECONDS, "notify": True}
    arguments |= {"inputs": inputs} if inputs else {"use_defaults": True}
    cron = read_cron(talk.text)
    if cron:
        arguments |= {"cron": cron, "schedule_name": name or "Scheduled by chat"}
    (result,) = yield talk.call("run_agent", arguments, say="I run it.")
    return describe(result)


def view_output(talk: Talk) -> Flow:
    when = RUN_TIME.search(talk.text)
    arguments: dict[str, Any] = {"run_time": when.group().lower() if when else "latest"}
    name = _agent_name(talk)
    known = talk.recall("library_agent_id", "agent_id")
    if name:
        arguments["agent_name"] = name
    elif known:
        arguments["library_agent_id"] = known
    else:
        return "Of which agent? Say for example: show yesterday's output of the greeting agent."
    (result,) = yield talk.call("view_agent_output", arguments)
    return describe(result)


def run_block(talk: Talk) -> Flow:
    """Find the block by name, then run it; words without names go into its first input."""
    (found,) = yield talk.call("find_block", {"query": talk.group("name")[:100]}, say="I look for the block.")
    block = _first(found, "blocks")
    if not block:
        return describe(found)
    words = talk.group("inputs")
    inputs = read_inputs(words)
    if not inputs and words:
        inputs = {name: words.strip("\"'") for name in _input_names(block)[:1]}
    arguments = {"block_id": block.get("id") or block.get("block_id"), "input_data": inputs}
    (result,) = yield talk.call("run_block", arguments, say="I run it.")
    return describe(result)


def go_on_after_review(talk: Talk) -> Flow:
    """After a person's decision: run the block that waited for it, or look at the execution that did."""
    for known in reversed(talk.conversation.results_in(before_this_turn(talk.conversation))):
        if known.type == "review_required" and known.data.get("review_id"):
            (result,) = yield talk.call("continue_run_block", {"review_id": known.data["review_id"]})
            return describe(result)
        execution = known.data.get("execution_id") or (known.data.get("execution") or {}).get("execution_id")
        if execution:
            arguments = {"execution_id": execution, "wait_if_running": WAIT_SECONDS}
            (result,) = yield talk.call("view_agent_output", arguments)
            return describe(result)
    return "Nothing in this conversation waits for a decision."


def fetch_page(talk: Talk) -> Flow:
    (result,) = yield talk.call("web_fetch", {"url": talk.group("url").rstrip(".,;)"), "extract_text": True})
    return describe(result)


def keep_file(talk: Talk) -> Flow:
    quoted = QUOTED.search(talk.text)
    name = FILE_NAME.search(re.sub(r"https?://\S+", "", talk.text))
    _, _, after = talk.text.partition(":")
    content = quoted.group(1) if quoted else after.strip() or talk.text
    arguments = {"filename": name.group() if name else "note.txt", "content": content}
    (result,) = yield talk.call("write_workspace_file", arguments)
    return describe(result)


def read_file(talk: Talk) -> Flow:
    name = FILE_NAME.search(talk.text)
    known = talk.recall("file_id")
    if name is None and not known:
        return "Which file? Say for example: read note.txt back to me."
    arguments = {"path": name.group()} if name else {"file_id": known}
    (result,) = yield talk.call("read_workspace_file", arguments)
    return describe(result)


def list_files(talk: Talk) -> Flow:
    (result,) = yield talk.call("list_workspace_files", {})
    return describe(result)


def remember(talk: Talk) -> Flow:
    fact = talk.group("fact") or talk.text
    (result,) = yield talk.call("add_understanding", {"facts": fact, "understanding": fact, "notes": fact})
    return describe(result)


def find_agents(talk: Talk) -> Flow:
    mine = re.search(r"\b(my|library)\b", talk.text, re.IGNORECASE) or not talk.offers("find_agent")
    tool = "find_library_agent" if mine else "find_agent"
    (result,) = yield talk.call(tool, {"query": (talk.group("query") or talk.text)[:100]})
    return describe(result)


def find_blocks(talk: Talk) -> Flow:
    (result,) = yield talk.call("find_block", {"query": (talk.group("query") or talk.text)[:100]})
    return describe(result)


def list_schedules(talk: Talk) -> Flow:
    (result,) = yield talk.call("list_schedules", {})
    return describe(result)


def search_docs(talk: Talk) -> Flow:
    (result,) = yield talk.call("search_docs", {"query": talk.group("query") or talk.text})
    return describe(result)


def run_command(talk: Talk) -> Flow:
    quoted = QUOTED.search(talk.text)
    command = quoted.group(1) if quoted else talk.group("command")
    (result,) = yield talk.call("bash_exec", {"command": command})
    return describe(result)


def read_inputs(text: str) -> dict[str, Any]:
    """Named values in a sentence: a JSON object, or `name=Anna, count=3`."""
    data = find_object(text)
    if data:
        return dict(data)
    return dict(read_pairs(text))


def read_pairs(text: str) -> Iterator[tuple[str, Any]]:
    """`name=Anna, count=3`, pair by pair; goes through the text once, whatever is in it."""
    at = 0
    while sign := SIGN.search(text, at):
        value = VALUE.match(text, sign.end())
        name = name_before(text, at, sign.start())
        at = value.end() if value and name else sign.end()
        if value and name:
            yield name, _value(value[0].strip())


def name_before(text: str, start: int, end: int) -> str:
    """The words that end there, beginning with the first letter or digit of their line of words."""
    words = text[start:end].rstrip()
    begin = len(words)
    while begin and (words[begin - 1] in " _" or words[begin - 1].isalnum()):
        begin -= 1
    return words[begin:].strip()


def read_cron(text: str) -> str:
    """A cron expression for `every day at 9`, `every monday at 17:30`, `every hour`; "" when there is none."""
    words = re.search(r"\bevery (hour|day|morning|weekday|\w+day)\b", text, re.IGNORECASE)
    if words is None:
        return ""
    when = words.group(1).lower()
    if when == "hour":
        return "0 * * * *"
    clock = HOURS.search(text)
    hour, minute = (int(clock.group(1)), int(clock.group(2) or 0)) if clock else (9, 0)
    if clock and (clock.group(3) or "").lower() == "pm":
        hour = hour % 12 + 12
    day = "1-5" if when == "weekday" else DAYS.get(when, "*")
    return f"{minute} {hour % 24} * * {day}"


def _built(result: ToolResult) -> str:
    text = describe(result)
    if result.type in ("operation_started", "operation_in_progress"):
        return f"{text}\n\nThis takes a while. You may close the page; I come back here when it is ready."
    return text


def _agent_name(talk: Talk) -> str:
    name = re.sub(r"^(?:the|my|a|an|this|that)\s+", "", talk.group("name"), flags=re.IGNORECASE)
    return "" if name.lower() in ("", "it", "agent", "again") else name


def _first(result: ToolResult, field: str) -> Mapping[str, Any]:
    rows = result.data.get(field)
    return rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], Mapping) else {}


def _first_id(result: ToolResult, field: str) -> str:
    row = _first(result, field)
    return str(next((row[name] for name in ("library_agent_id", "id", "agent_id") if row.get(name)), ""))


def _input_names(block: Mapping[str, Any]) -> list[str]:
    """The names of a block's inputs, required ones first, from whichever shape the list gives."""
    schema = block.get("input_schema") or block.get("inputs") or {}
    if isinstance(schema, list):
        return [str(row.get("name") if isinstance(row, Mapping) else row) for row in schema]
    names = list(schema.get("properties") or schema)
    required = [name for name in schema.get("required") or () if name in names]
    return required + [name for name in names if name not in required]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip("\"'")
