"""What the offline model recognises: the tour of the README, small talk, side jobs, and honest answers to the rest."""

from __future__ import annotations

import json
import time
from typing import Any

import jsonschema
import pytest

from llm.offline.conversation import OfflineConversation, OfflineToolResult
from llm.offline.describe import describe, for_people, show
from llm.offline.flows import read_inputs
from llm.offline.reply import Reply, split_evenly, split_words
from llm.offline.rules import answer


def schema(required: str = "", optional: str = "") -> dict[str, Any]:
    kinds = {
        "i": {"type": "integer", "minimum": 0, "maximum": 300},
        "o": {"type": "object"},
        "b": {"type": "boolean"},
        "l": {"type": "array"},
    }
    properties = {}
    for field in f"{required} {optional}".split():
        name, _, kind = field.partition(":")
        properties[name] = kinds.get(kind, {"type": "string"})
    names = [field.partition(":")[0] for field in required.split()]
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


TOOLS = {
    "get_agent_building_guide": schema(),
    "create_agent": schema("", "description agent_json context save:b"),
    "edit_agent": schema("agent_id", "changes agent_json"),
    "find_library_agent": schema("query"),
    "find_agent": schema("query"),
    "find_block": schema("query"),
    "run_block": schema("block_id input_data:o"),
    "run_agent": schema("", "library_agent_id inputs:o use_defaults:b wait_for_result:i cron schedule_name"),
    "view_agent_output": schema("", "agent_name library_agent_id execution_id run_time wait_if_running:i"),
    "web_fetch": schema("url", "extract_text:b"),
    "write_workspace_file": schema("filename content"),
    "read_workspace_file": schema("", "file_id path"),
    "list_workspace_files": schema("", "prefix"),
    "run_sub_session": schema("prompt", "wait_for_result:i"),
    "get_sub_session_result": schema("sub_session_id", "wait_if_running:i"),
    "check_operation_status": schema("", "operation_id"),
    "add_understanding": schema("facts"),
    "list_schedules": schema(),
    "schedule_followup": schema("prompt", "in_minutes:i cron"),
    "update_todo_list": schema("items:l"),
    "list_followups": schema(),
    "list_triggers": schema(),
    "list_credentials": schema(),
    "list_presets": schema(),
    "web_search": schema("query"),
    "bash_exec": schema("command", "timeout:i"),
    "search_docs": schema("query"),
}


class Chat:
    """A conversation with the rules in which the test plays the tools."""

    def __init__(self, tools: dict[str, Any] | None = None) -> None:
        self.tools = TOOLS if tools is None else tools
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a copilot."}]

    def say(self, text: str) -> Reply:
        self.messages.append({"role": "user", "content": text})
        return self.next()

    def next(self) -> Reply:
        offered = [
            {"type": "function", "function": {"name": n, "parameters": s}} for n, s in self.tools.items()
        ]
        reply = answer(OfflineConversation({"model": "offline", "messages": self.messages, "tools": offered}))
        asked = []
        for call in reply.tool_calls:
            jsonschema.validate(json.loads(call.arguments), self.tools[call.name])
            asked.append(
                {"id": f"c{len(self.messages)}", "function": {"name": call.name, "arguments": call.arguments}}
            )
        self.messages.append({"role": "assistant", "content": reply.text, "tool_calls": asked or None})
        return reply

    def result(self, **data: Any) -> Reply:
        call = self.messages[-1]["tool_calls"][0]
        self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(data)})
        return self.next()


def call_of(reply: Reply) -> tuple[str, dict[str, Any]]:
    (call,) = reply.tool_calls
    return call.name, json.loads(call.arguments)


def todos(**status: str) -> list[dict[str, str]]:
    return [{"text": text, "status": state} for text, state in status.items()]


def test_a_to_do_list_is_ticked_off_item_by_item() -> None:
    chat = Chat()
    assert "no to-do list" in chat.say("tick off bake").text
    assert "What should be on the list?" in chat.say("make a to-do list").text
    made = call_of(chat.say("make a to-do list: bake, eat"))[1]["items"]
    assert made == todos(bake="in_progress", eat="pending")
    assert "tick off bake" in chat.result(type="todo_list", message="0 of 2 done.", items=made).text
    assert "not on the list" in chat.say("tick off fly").text
    ticked = call_of(chat.say("tick off bake"))[1]["items"]
    assert ticked == todos(bake="done", eat="in_progress")
    assert "1 of 2" in chat.result(type="todo_list", message="1 of 2 done.", items=ticked).text
    assert call_of(chat.say("tick off Eat."))[1]["items"] == todos(bake="done", eat="done")
    assert "Here is a list" in chat.say("show me a list").text


def test_a_reminder_that_is_due_says_what_of() -> None:
    due = Chat().say("Scheduled follow-up: Remind the person: call Bob")
    assert due.text == "You asked me to remind you: call Bob"


def test_an_unclear_repetition_of_a_reminder_is_asked_about() -> None:
    assert "How often?" in Chat().say("remind me every blue moon to call Bob").text


def test_an_agent_is_built_run_and_looked_at() -> None:
    chat = Chat()
    assert call_of(chat.say("Build an agent that greets people by name"))[0] == "get_agent_building_guide"
    name, arguments = call_of(chat.result(type="agent_building_guide", message="The guide."))
    assert (name, arguments["description"]) == ("create_agent", "greets people by name")
    reply = chat.result(
        type="agent_saved", message="Saved “Greeter”.", library_agent_id="lib-1", link="/agents/lib-1"
    )
    assert "Greeter" in reply.text
    assert "/agents/lib-1" in reply.text

    name, arguments = call_of(chat.say("run it with name=Anna, times=3"))
    assert (name, arguments["library_agent_id"]) == ("run_agent", "lib-1")
    assert arguments["inputs"] == {"name": "Anna", "times": 3}
    reply = chat.result(type="agent_output", message="It completed.", outputs={"greeting": ["Hello Anna"]})
    assert "Hello Anna" in reply.text

    name, arguments = call_of(chat.say("show yesterday's output"))
    assert (name, arguments) == ("view_agent_output", {"library_agent_id": "lib-1", "run_time": "yesterday"})
    assert "That did not work" in chat.result(type="no_results", message="No runs yesterday.").text


def test_a_build_that_takes_long_says_that_it_comes_back_and_then_tells_the_result() -> None:
    chat = Chat(tools={"create_agent": TOOLS["create_agent"]})
    chat.say("create an agent to sum numbers")
    reply = chat.result(type="operation_started", message="Building.", operation_id="op-1")
    assert "close the page" in reply.text
    chat.messages[-2]["content"] = json.dumps({"type": "agent_saved", "message": "Saved “Summer”."})
    chat.messages.append({"role": "user", "content": "Operation op-1 (create_agent) has finished."})
    assert "Saved “Summer”." in chat.next().text


def test_a_continuation_without_a_new_message_tells_the_newest_result() -> None:
    chat = Chat()
    chat.say("start a sub-session to count to 3")
    chat.result(type="sub_session_status", message="Running.", sub_session_id="s1")
    chat.messages[-2]["content"] = json.dumps({"type": "sub_session_status", "message": "Completed: 1 2 3."})
    assert chat.next().text == "Completed: 1 2 3."


@pytest.mark.parametrize(
    ("said", "tool", "arguments"),
    [
        (
            "fetch https://example.com/a?b=c.",
            "web_fetch",
            {"url": "https://example.com/a?b=c", "extract_text": True},
        ),
        (
            "Keep a note in note.txt: buy milk",
            "write_workspace_file",
            {"filename": "note.txt", "content": "buy milk"},
        ),
        (
            'save "hello there" as a file',
            "write_workspace_file",
            {"filename": "note.txt", "content": "hello there"},
        ),
        ("read note.txt back to me", "read_workspace_file", {"path": "note.txt"}),
        ("list my files", "list_workspace_files", {}),
        (
            "Start a sub-session to count to 50",
            "run_sub_session",
            {"prompt": "count to 50", "wait_for_result": 60},
        ),
        (
            "do some long work and come back",
            "run_sub_session",
            {"prompt": "count to 300", "wait_for_result": 0},
        ),
        ("remember that I sell shoes in Porto", "add_understanding", {"facts": "I sell shoes in Porto"}),
        ("find a block for adding text", "find_block", {"query": "adding text"}),
        ("run the Calculator block with a=2, b=3", "find_block", {"query": "Calculator"}),
        ("find my agents about invoices", "find_library_agent", {"query": "invoices"}),
        ("search for an agent for invoices", "find_agent", {"query": "invoices"}),
        ("run the greeting agent", "find_library_agent", {"query": "greeting agent"}),
        (
            "show the output of the greeting agent from last week",
            "view_agent_output",
            {"agent_name": "greeting", "run_time": "last week"},
        ),
        ("show my schedules", "list_schedules", {}),
        (
            "remind me in 2 hours to call Bob",
            "schedule_followup",
            {"prompt": "Remind the person: call Bob", "in_minutes": 120},
        ),
        (
            "remind me every monday at 17:30 to call Bob",
            "schedule_followup",
            {"prompt": "Remind the person: call Bob", "cron": "30 17 * * 1"},
        ),
        (
            "make a to-do list: bake, eat and rest",
            "update_todo_list",
            {"items": todos(bake="in_progress", eat="pending", rest="pending")},
        ),
        ("show my follow-ups", "list_followups", {}),
        ("which triggers do I have", "list_triggers", {}),
        ("list my credentials", "list_credentials", {}),
        ("show my presets", "list_presets", {}),
        ("search the web for leases", "web_search", {"query": "leases"}),
        ("run the command `ls -l`", "bash_exec", {"command": "ls -l"}),
        ("search the docs for webhooks", "search_docs", {"query": "webhooks"}),
    ],
)
def test_a_sentence_of_the_tour_becomes_a_call_that_fits(
    said: str, tool: str, arguments: dict[str, Any]
) -> None:
    assert call_of(Chat().say(said)) == (tool, arguments)


def test_a_block_is_found_and_run_with_named_inputs() -> None:
    chat = Chat()
    chat.say("run the Calculator block with a=2, b=3")
    block = {
        "id": "b-1",
        "name": "Calculator",
        "input_schema": {"properties": {"a": {}, "b": {}}, "required": ["a"]},
    }
    name, arguments = call_of(chat.result(type="block_list", message="1 block.", blocks=[block]))
    assert (name, arguments) == ("run_block", {"block_id": "b-1", "input_data": {"a": 2, "b": 3}})
    assert "5" in chat.result(type="block_output", message="Done.", outputs={"result": [5]}).text


def test_words_without_names_go_into_the_first_input_of_a_block() -> None:
    chat = Chat()
    chat.say("run the Print block with good morning")
    block = {"id": "b-2", "input_schema": {"properties": {"loud": {}, "text": {}}, "required": ["text"]}}
    assert call_of(chat.result(blocks=[block], message="1"))[1]["input_data"] == {"text": "good morning"}


def test_nothing_found_ends_the_flow_in_words() -> None:
    chat = Chat()
    chat.say("run the Teleport block")
    reply = chat.result(type="no_results", message="No block matches.", suggestions=["Try find_block."])
    assert reply.tool_calls == ()
    assert "No block matches." in reply.text


def test_an_agent_can_be_put_on_a_schedule() -> None:
    chat = Chat()
    chat.say("schedule the greeting agent every weekday at 5:30 pm")
    name, arguments = call_of(chat.result(type="agents_found", message="1", agents=[{"id": "lib-9"}]))
    assert (name, arguments["cron"], arguments["library_agent_id"]) == ("run_agent", "30 17 * * 1-5", "lib-9")


def test_is_it_done_looks_after_the_newest_work() -> None:
    chat = Chat()
    chat.say("do some long work and come back")
    chat.result(type="sub_session_status", message="Running.", sub_session_id="s-7")
    assert call_of(chat.say("is it done?"))[1]["sub_session_id"] == "s-7"


@pytest.mark.parametrize(
    "said",
    [
        "build an agent that greets",
        "fetch https://example.com",
        "keep a note in a.txt: x",
        "start a sub-session to sing",
    ],
)
def test_a_tool_that_is_not_offered_is_said_to_be_missing(said: str) -> None:
    reply = Chat(tools={}).say(said)
    assert reply.tool_calls == ()
    assert "not available in this session" in reply.text and "_" not in reply.text


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Hello!", "offline model"),
        ("what can you do?", "OPENAI_API_KEY"),
        ("help", "count to 300"),
        ("thanks a lot", "welcome"),
        ("what is 12 * (3 + 4)?", "12 * (3 + 4) = 84"),
        ("2^10", "2^10 = 1024"),
        ("7/2", "7/2 = 3.5"),
        ("1/0", "would divide by zero"),
        ("9**9**9", "can't calculate"),
        ("reverse hello", "olleh"),
        ("say good morning", "good morning"),
        ("uppercase abc", "ABC"),
        ("how many words in one two three", "3 words"),
        ("show me a table", "| number | square |"),
        ("show me some code", "```python"),
        ("give me a list", "1. **First**"),
        ("Tell me about the French Revolution", "without a language model"),
        ("", "OPENAI_BASE_URL"),
    ],
)
def test_small_talk_and_honest_answers(said: str, told: str) -> None:
    reply = Chat().say(said)
    assert told in reply.text
    assert reply.tool_calls == ()


def test_counting_streams_as_many_pieces_as_numbers() -> None:
    reply = Chat().say("count to 300")
    assert len(reply.pieces) == 300
    assert reply.pieces[-1] == "300\n"
    assert reply.delay > 0
    assert len(Chat().say("count to 999999").pieces) == 5_000


@pytest.mark.parametrize(("said", "pieces"), [("write 200 words", 200), ("write me 7 sentences", 7)])
def test_writing_streams_the_number_of_pieces_asked_for(said: str, pieces: int) -> None:
    assert len(Chat().say(said).pieces) == pieces


def side_job(system: str, *said: str, **fields: Any) -> str:
    messages = [{"role": "system", "content": system}, *({"role": "user", "content": text} for text in said)]
    return answer(OfflineConversation({"messages": messages} | fields)).text


def test_titles_and_summaries() -> None:
    assert side_job(
        "Give a title of at most 6 words.", "<message>User: plan my trip to Lisbon in May!</message>"
    ) == ("plan my trip to Lisbon in")
    assert side_job("Give a title.", "") == "Untitled conversation"
    summary = side_job("Summarise the conversation.", "first thing", "second thing")
    assert "first thing" in summary
    assert "second thing" in summary


def test_an_answer_fits_the_schema_that_is_asked_for() -> None:
    wanted = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 5},
            "kind": {"enum": ["a", "b"]},
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 2},
            "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        },
        "required": ["name", "kind", "items", "note"],
        "$defs": {"item": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
    }
    text = side_job(
        "Extract.", "something", response_format={"type": "json_schema", "json_schema": {"schema": wanted}}
    )
    jsonschema.validate(json.loads(text), wanted)


@pytest.mark.parametrize(
    "text", ["1" + "+" * 1_990 + "x", "run " * 490, "a=" * 990, "{" * 1_990, "\u200b" * 1_900]
)
def test_no_message_keeps_the_rules_busy(text: str) -> None:
    started = time.process_time()
    Chat().say(text)
    Chat().say("run the x agent with " + text[:1900])
    assert time.process_time() - started < 2


def test_a_message_of_any_shape_is_read() -> None:
    messages: list[Any] = [
        {"role": "user", "content": None},
        {"role": "user", "content": [{"type": "x"}, 7]},
        7,
    ]
    assert answer(OfflineConversation({"messages": messages, "tools": None})).text


def test_words_and_even_pieces_join_to_the_text() -> None:
    text = "  a  b\n\nc 🌍 "
    assert "".join(split_words(text)) == text
    assert "".join(split_evenly(text, 300)) == text
    assert len(split_evenly(text, 300)) == 300


def test_sentences_meant_for_the_model_are_not_read_out_to_people() -> None:
    started = "create_agent was started and goes on by itself. Tell the user so and end your answer."
    assert for_people(started) == "create_agent was started and goes on by itself."
    missing = "One thing is missing. Ask the user, then call again with the answers in `context`."
    assert for_people(missing) == "One thing is missing."
    assert for_people("The page says: call me. It is 3 kB.") == "The page says: call me. It is 3 kB."


def test_long_work_and_links_are_told_in_words_for_people() -> None:
    started = OfflineToolResult(
        name="edit_agent", text="{}", data={"type": "operation_started", "message": "edit_agent was started."}
    )
    assert describe(started) == "I have started changing the agent."
    saved = OfflineToolResult(
        name="x",
        text="{}",
        data={"type": "saved", "message": "Saved.", "library_agent_link": "/library/agents/1"},
    )
    assert describe(saved) == "Saved.\n\n[Open the agent](/library/agents/1)"


def test_an_input_is_named_by_its_kind() -> None:
    assert show({"city": {"type": "string", "required": True}}) == "\n- **city**: string, required"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("name=Anna, count=3", {"name": "Anna", "count": 3}),
        (
            "run it with first name = \"Anna, B\"; city: 'Bonn'",
            {"run it with first name": "Anna, B", "city": "Bonn"},
        ),
        ("a:1\nb_2 :true", {"a": 1, "b_2": True}),
        ("=1, :2, - = 3", {}),
        ("nothing here", {}),
    ],
)
def test_named_values_in_a_sentence(text: str, values: dict[str, Any]) -> None:
    assert read_inputs(text) == values


@pytest.mark.usefixtures("frozen_process_ends")
@pytest.mark.parametrize("text", ["a " * 32_000, "a" + " " * 64_000, "a=" * 32_000, 'a="' * 20_000 + "'"])
def test_named_values_are_read_in_one_go(text: str) -> None:
    assert len(read_inputs(text)) <= 2
