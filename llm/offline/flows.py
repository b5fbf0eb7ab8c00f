"""Flows that call tools: one for each kind of request that the offline model recognises."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from llm.offline.build_followup import TAKES_A_WHILE, before_this_turn
from llm.offline.conversation import OfflineToolResult, find_object
from llm.offline.describe import describe
from llm.offline.flow_runner import Flow, FlowContext

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


def build_agent(turn: FlowContext) -> Flow:
    """Read the building guide, then build the agent; the result may arrive later as an operation."""
    goal = turn.group("goal") or turn.text
    if turn.offers("get_agent_building_guide"):
        yield turn.call("get_agent_building_guide", {}, say="I'll read the building guide first.")
    arguments: dict[str, Any] = {"description": goal, "save": True}
    part = OWN_AGENT.search(goal)
    if part and turn.offers("find_library_agent"):
        (found,) = yield turn.call(
            "find_library_agent", {"query": part["name"]}, say="I'll look for that agent."
        )
        if agent := _first_id(found, "agents"):
            arguments["library_agent_ids"] = [agent]
    (result,) = yield turn.call("create_agent", arguments, say="Now I'll build it.")
    return _built(result)


def customize_agent(turn: FlowContext) -> Flow:
    """Add a customized copy of a store agent to the library."""
    arguments = {"store_slug": turn.group("slug"), "modifications": turn.group("changes") or turn.text}
    (result,) = yield turn.call("customize_agent", arguments, say="I'll customize it for you.")
    return _built(result)


def edit_agent(turn: FlowContext) -> Flow:
    agent = turn.recall("agent_id", "library_agent_id")
    if not agent:
        return "Which agent should I change? Build one first, or find it with “find my … agent”."
    if turn.offers("get_agent_building_guide"):
        yield turn.call("get_agent_building_guide", {})
    (result,) = yield turn.call("edit_agent", {"agent_id": agent, "changes": turn.text})
    return _built(result)


def run_agent(turn: FlowContext) -> Flow:
    """Run the agent of this conversation, or find the named one in the library first."""
    name = _agent_name(turn)
    agent = "" if name else turn.recall("library_agent_id", "agent_id")
    if not agent:
        (found,) = yield turn.call(
            "find_library_agent", {"query": name or turn.text[:100]}, say="I'll look for it."
        )
        agent = _first_id(found, "agents")
        if not agent:
            return describe(found)
    inputs = read_inputs(turn.group("inputs"))
    arguments: dict[str, Any] = {"library_agent_id": agent, "wait_for_result": WAIT_SECONDS, "notify": True}
    arguments |= {"inputs": inputs} if inputs else {"use_defaults": True}
    cron = read_cron(turn.text)
    if cron:
        arguments |= {"cron": cron, "schedule_name": name or "Scheduled by chat"}
    (result,) = yield turn.call("run_agent", arguments, say="I'll run it.")
    return describe(result)


def view_output(turn: FlowContext) -> Flow:
    when = RUN_TIME.search(turn.text)
    arguments: dict[str, Any] = {"run_time": when.group().lower() if when else "latest"}
    name = _agent_name(turn)
    known = turn.recall("library_agent_id", "agent_id")
    if name:
        arguments["agent_name"] = name
    elif known:
        arguments["library_agent_id"] = known
    else:
        return "Which agent do you mean? For example: show yesterday's output of the greeting agent."
    (result,) = yield turn.call("view_agent_output", arguments)
    return describe(result)


def run_block(turn: FlowContext) -> Flow:
    """Find the block by name and run it; a plain value goes into its first input."""
    (found,) = yield turn.call(
        "find_block", {"query": turn.group("name")[:100]}, say="I'll look for the block."
    )
    block = _first(found, "blocks")
    if not block:
        return describe(found)
    words = turn.group("inputs")
    inputs = read_inputs(words)
    if not inputs and words:
        inputs = {name: words.strip("\"'") for name in _input_names(block)[:1]}
    arguments = {"block_id": block.get("id") or block.get("block_id"), "input_data": inputs}
    (result,) = yield turn.call("run_block", arguments, say="I'll run it.")
    return describe(result)


def continue_after_review(turn: FlowContext) -> Flow:
    """After a review decision, run the waiting block or check the waiting execution."""
    for known in reversed(turn.conversation.results_in(before_this_turn(turn.conversation))):
        if known.type == "review_required" and known.data.get("review_id"):
            (result,) = yield turn.call("continue_run_block", {"review_id": known.data["review_id"]})
            return describe(result)
        execution = known.data.get("execution_id") or (known.data.get("execution") or {}).get("execution_id")
        if execution:
            arguments = {"execution_id": execution, "wait_if_running": WAIT_SECONDS}
            (result,) = yield turn.call("view_agent_output", arguments)
            return describe(result)
    return "Nothing in this conversation is waiting for a decision."


def fetch_page(turn: FlowContext) -> Flow:
    (result,) = yield turn.call("web_fetch", {"url": turn.group("url").rstrip(".,;)"), "extract_text": True})
    return describe(result)


def keep_file(turn: FlowContext) -> Flow:
    quoted = QUOTED.search(turn.text)
    name = FILE_NAME.search(re.sub(r"https?://\S+", "", turn.text))
    _, _, after = turn.text.partition(":")
    content = quoted.group(1) if quoted else after.strip() or turn.text
    arguments = {"filename": name.group() if name else "note.txt", "content": content}
    (result,) = yield turn.call("write_workspace_file", arguments)
    return describe(result)


def read_file(turn: FlowContext) -> Flow:
    name = FILE_NAME.search(turn.text)
    known = turn.recall("file_id")
    if name is None and not known:
        return "Which file do you mean? For example: read note.txt back to me."
    arguments = {"path": name.group()} if name else {"file_id": known}
    (result,) = yield turn.call("read_workspace_file", arguments)
    return describe(result)


def list_files(turn: FlowContext) -> Flow:
    (result,) = yield turn.call("list_workspace_files", {})
    return describe(result)


def remember(turn: FlowContext) -> Flow:
    fact = turn.group("fact") or turn.text
    (result,) = yield turn.call("add_understanding", {"facts": fact, "understanding": fact, "notes": fact})
    return describe(result)


def find_agents(turn: FlowContext) -> Flow:
    mine = re.search(r"\b(my|library)\b", turn.text, re.IGNORECASE) or not turn.offers("find_agent")
    tool = "find_library_agent" if mine else "find_agent"
    (result,) = yield turn.call(tool, {"query": (turn.group("query") or turn.text)[:100]})
    return describe(result)


def find_blocks(turn: FlowContext) -> Flow:
    (result,) = yield turn.call("find_block", {"query": (turn.group("query") or turn.text)[:100]})
    return describe(result)


def list_schedules(turn: FlowContext) -> Flow:
    (result,) = yield turn.call("list_schedules", {})
    return describe(result)


def listing(tool: str) -> Callable[[FlowContext], Flow]:
    """Return a flow that calls a tool without arguments and shows what it lists."""

    def show_list(turn: FlowContext) -> Flow:
        (result,) = yield turn.call(tool, {})
        return describe(result)

    return show_list


def follow_up(turn: FlowContext) -> Flow:
    minutes = int(turn.group("count")) * {"minute": 1, "hour": 60, "day": 1440}[turn.group("unit").lower()]
    prompt = f"Remind the person: {turn.group('prompt')}"
    (result,) = yield turn.call("schedule_followup", {"prompt": prompt, "in_minutes": minutes})
    return describe(result)


def repeated_follow_up(turn: FlowContext) -> Flow:
    cron = read_cron(turn.group("cron"))
    if not cron:
        return "How often? Say “every hour”, “every day at 9” or “every monday at 17:30”."
    prompt = f"Remind the person: {turn.group('prompt')}"
    (result,) = yield turn.call("schedule_followup", {"prompt": prompt, "cron": cron})
    return describe(result)


def search_web(turn: FlowContext) -> Flow:
    (result,) = yield turn.call("web_search", {"query": turn.group("query")})
    return describe(result)


def search_docs(turn: FlowContext) -> Flow:
    (result,) = yield turn.call("search_docs", {"query": turn.group("query") or turn.text})
    return describe(result)


def run_command(turn: FlowContext) -> Flow:
    quoted = QUOTED.search(turn.text)
    command = quoted.group(1) if quoted else turn.group("command")
    (result,) = yield turn.call("bash_exec", {"command": command})
    return describe(result)


def read_inputs(text: str) -> dict[str, Any]:
    """Return the named values in a sentence: a JSON object, or `name=Anna, count=3`."""
    data = find_object(text)
    if data:
        return dict(data)
    return dict(read_pairs(text))


def read_pairs(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the pairs of `name=Anna, count=3`, in one pass over the text."""
    at = 0
    while sign := SIGN.search(text, at):
        value = VALUE.match(text, sign.end())
        name = name_before(text, at, sign.start())
        at = value.end() if value and name else sign.end()
        if value and name:
            yield name, _value(value[0].strip())


def name_before(text: str, start: int, end: int) -> str:
    """Return the words directly before `end`, back to the first other character."""
    words = text[start:end].rstrip()
    begin = len(words)
    while begin and (words[begin - 1] in " _" or words[begin - 1].isalnum()):
        begin -= 1
    return words[begin:].strip()


def read_cron(text: str) -> str:
    """Return a cron expression for `every day at 9`, `every monday at 17:30` or `every hour`, or ""."""
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


def _built(result: OfflineToolResult) -> str:
    text = describe(result)
    if result.type in ("operation_started", "operation_in_progress"):
        return f"{text}\n\n{TAKES_A_WHILE}"
    return text


def _agent_name(turn: FlowContext) -> str:
    name = re.sub(r"^(?:the|my|a|an|this|that)\s+", "", turn.group("name"), flags=re.IGNORECASE)
    return "" if name.lower() in ("", "it", "agent", "again") else name


def _first(result: OfflineToolResult, field: str) -> Mapping[str, Any]:
    rows = result.data.get(field)
    return rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], Mapping) else {}


def _first_id(result: OfflineToolResult, field: str) -> str:
    row = _first(result, field)
    return str(next((row[name] for name in ("library_agent_id", "id", "agent_id") if row.get(name)), ""))


def _input_names(block: Mapping[str, Any]) -> list[str]:
    """Return the names of a block's inputs, required ones first."""
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
