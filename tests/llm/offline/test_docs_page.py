"""The page on the offline model says what its rules say."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm.offline.docs_page import offline_model_page
from tests.llm.offline.test_rules import Chat, call_of

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_what_the_code_says() -> None:
    written = (ROOT / "docs" / "reference" / "offline-model.md").read_text()
    assert written == offline_model_page(), (
        "docs/reference/offline-model.md is stale: run ./copilot docs and commit the result."
    )


def saved(chat: Chat, tool: str) -> None:
    chat.result(type="agent_saved", message=f"{tool} saved it.", library_agent_id="lib-1", agent_id="lib-1")


def test_answers_to_questions_go_back_to_the_builder_with_what_was_said() -> None:
    chat = Chat()
    chat.say("build an agent that translates a text")
    chat.result(type="agent_building_guide", message="The guide.")
    questions = [{"question": "Into which language?", "keyword": "language"}]
    asked = chat.result(type="clarification_needed", message="One thing is missing.", questions=questions)
    assert "Into which language?" in asked.text
    name, arguments = call_of(chat.say("into French"))
    assert (name, arguments["description"], arguments["context"]) == (
        "create_agent",
        "translates a text",
        "into French",
    )


@pytest.mark.parametrize(
    "words", ["never mind", "build an agent that greets people by name", "list my files"]
)
def test_something_else_is_no_answer_to_a_question(words: str) -> None:
    chat = Chat()
    chat.say("build an agent that translates a text")
    chat.result(type="agent_building_guide", message="The guide.")
    chat.result(type="clarification_needed", message="Missing.", questions=[{"question": "Which?"}])
    reply = chat.say(words)
    assert [call.name for call in reply.tool_calls] != ["create_agent"]


def test_a_better_goal_is_built_when_the_person_agrees() -> None:
    chat = Chat()
    chat.say("build an agent that helps me")
    chat.result(type="agent_building_guide", message="The guide.")
    chat.result(type="suggested_goal", message="Too vague.", suggested_goal="Summarise a page")
    name, arguments = call_of(chat.say("yes, do that"))
    assert (name, arguments["description"]) == ("create_agent", "Summarise a page")


def test_a_run_with_an_address_is_a_run_and_not_a_fetch() -> None:
    chat = Chat()
    chat.say("build an agent that summarises a web page")
    chat.result(type="agent_building_guide", message="The guide.")
    saved(chat, "create_agent")
    name, arguments = call_of(chat.say("run it with url=https://example.com/a"))
    assert (name, arguments["inputs"]) == ("run_agent", {"url": "https://example.com/a"})


def test_an_edit_is_heard_without_the_word_edit() -> None:
    chat = Chat()
    chat.say("build an agent that greets people by name")
    chat.result(type="agent_building_guide", message="The guide.")
    saved(chat, "create_agent")
    chat.say("also count the words")
    name, arguments = call_of(chat.result(type="agent_building_guide", message="The guide."))
    assert (name, arguments) == ("edit_agent", {"agent_id": "lib-1", "changes": "also count the words"})
