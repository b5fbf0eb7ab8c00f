"""What the offline model does with work that goes on elsewhere, and when it comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.llm.offline.test_rules import TOOLS, Chat, call_of, schema

SUB = "2f0f3c1e-8b7a-5c4d-9e6f-0a1b2c3d4e5f"
WITH_NOTICE = TOOLS | {
    "run_sub_session": schema("prompt", "wait_for_result:i notify:b"),
    "get_sub_session_result": schema("sub_session_id", "wait_if_running:i cancel:b include_progress:b"),
}
WAITED: dict[str, Any] = {"wait_for_result": 60}
TOLD: dict[str, Any] = {"wait_for_result": 0, "notify": True}


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("Start a sub-session to research how leases work", {"prompt": "research how leases work", **WAITED}),
        ("please use a sub-session for this: count to 5", {"prompt": "count to 5", **WAITED}),
        (
            "start a subsession to count to 5 and tell me when it is done",
            {"prompt": "count to 5", **TOLD},
        ),
        ("start a sub-session to count to 5, don't wait for it", {"prompt": "count to 5", **TOLD}),
        ("Start a sub-session to research leases and report back", {"prompt": "research leases", **WAITED}),
        ("count to 300 in the background", {"prompt": "count to 300", **TOLD}),
        ("Research the doorbell in the background", {"prompt": "Research the doorbell", **TOLD}),
        ("do some long work: count to 40, come back when it is done", {"prompt": "count to 40", **TOLD}),
        ("do some long work and come back", {"prompt": "count to 300", **TOLD}),
    ],
)
def test_a_task_is_handed_over_as_it_was_meant(said: str, arguments: dict[str, Any]) -> None:
    assert call_of(Chat(WITH_NOTICE).say(said)) == ("run_sub_session", arguments)


def test_several_tasks_are_handed_over_at_once_and_told_together() -> None:
    chat = Chat(WITH_NOTICE)
    reply = chat.say("start two sub-sessions: one to count to 3; one to count to 5")
    prompts = [json.loads(call.arguments)["prompt"] for call in reply.tool_calls]
    assert prompts == ["count to 3", "count to 5"]


def test_the_answer_of_a_sub_session_is_told_with_its_link() -> None:
    chat = Chat(WITH_NOTICE)
    chat.say("start a sub-session to count to 3")
    reply = chat.result(
        type="sub_session_status",
        status="completed",
        message="It is done.",
        response="1 2 3",
        link=f"/c/{SUB}",
    )
    assert reply.tool_calls == ()
    assert "1 2 3" in reply.text and f"/c/{SUB}" in reply.text


def test_what_runs_is_asked_after_and_stopped() -> None:
    chat = Chat(WITH_NOTICE)
    chat.say("count to 300 in the background")
    reply = chat.result(
        type="sub_session_status", status="running", message="At work.", sub_session_id=SUB, notify=True
    )
    assert "I'll post here" in reply.text
    for said in ("is it done?", "how is the sub-session doing?", "check on the sub-session"):
        name, arguments = call_of(chat.say(said))
        assert (name, arguments["sub_session_id"]) == ("get_sub_session_result", SUB)
        assert arguments["include_progress"] is True
        chat.result(type="sub_session_status", status="running", message="At work.", sub_session_id=SUB)
    name, arguments = call_of(chat.say("stop the sub-session"))
    assert (name, arguments["cancel"]) == ("get_sub_session_result", True)
    assert "cancelled" in chat.result(type="sub_session_status", message="It was cancelled.").text


def test_without_a_sub_session_there_is_nothing_to_stop() -> None:
    assert "not started" in Chat(WITH_NOTICE).say("cancel the sub-session").text


# --- coming back ------------------------------------------------------------------------------------


def note(chat: Chat, text: str) -> None:
    chat.messages.append({"role": "system", "content": text})


def test_a_sub_session_that_came_back_is_told_from_where_it_was_started() -> None:
    chat = Chat(WITH_NOTICE)
    chat.say("count to 3 in the background")
    chat.result(type="sub_session_status", status="running", message="At work.", sub_session_id=SUB)
    tool = next(message for message in chat.messages if message["role"] == "tool")
    tool["content"] = json.dumps(
        {"type": "sub_session_status", "status": "completed", "sub_session_id": SUB, "response": "1 2 3"}
    )
    note(chat, f"The sub-session {SUB}, started earlier in this conversation, has completed.")
    reply = chat.next()
    assert "1 2 3" in reply.text and reply.tool_calls == ()


def test_a_sub_session_whose_answer_is_not_there_yet_is_read() -> None:
    chat = Chat(WITH_NOTICE)
    chat.say("count to 3 in the background")
    chat.result(type="sub_session_status", status="running", message="At work.", sub_session_id=SUB)
    note(chat, f"The sub-session {SUB}, started earlier in this conversation, has failed.")
    assert call_of(chat.next())[1]["sub_session_id"] == SUB
    assert "Out of paper." in chat.result(type="sub_session_status", message="Out of paper.").text


def test_an_execution_that_came_back_is_read_and_told() -> None:
    chat = Chat(WITH_NOTICE)
    chat.say("run the greeting agent")
    chat.result(type="agents_found", message="1", agents=[{"id": "lib-9"}])
    chat.result(type="execution_started", message="Started.", execution_id=SUB)
    note(chat, f"The execution {SUB}, started earlier in this conversation, has completed.")
    name, arguments = call_of(chat.next())
    assert (name, arguments) == ("view_agent_output", {"execution_id": SUB})
    assert "Hello" in chat.result(type="agent_output", message="Done.", outputs={"greeting": ["Hello"]}).text
    assert call_of(chat.say("fetch https://example.com"))[0] == "web_fetch", (
        "the next message is a new request"
    )


def test_what_it_should_know_first_is_no_news() -> None:
    chat = Chat(WITH_NOTICE)
    chat.say("list my files")
    chat.result(type="workspace_file_list", message="None.")
    chat.messages.append({"role": "user", "content": "say hello"})
    note(chat, "The person sells shoes.")
    assert chat.next().text == "hello"


def test_research_is_honest_about_its_source() -> None:
    chat = Chat(WITH_NOTICE)
    assert call_of(chat.say("research how leases work")) == ("search_docs", {"query": "how leases work"})
    reply = chat.result(type="doc_search_results", message="2 pages.", results=[{"title": "Leases"}])
    assert "Leases" in reply.text and "the only source" in reply.text
