"""What is Anthropic's alone: the cap on output, thinking, cache marks, and the shape of a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from llm.carry import CARRY, VOLATILE, Carry
from llm.dialects.anthropic import BEGINNING, NOTE, USUAL_OUTPUT_TOKENS, AnthropicDialect
from llm.errors import BadModelRequest
from llm.types import Request, ToolSpec
from tests.llm.dialect_servers import Anthropic, Fault, ModelServer, Script, running
from tests.llm.test_dialects import ask, use

TOOLS = [ToolSpec(name=name, description="", parameters={"type": "object"}) for name in ("a", "b")]
Message = dict[str, Any]


@pytest.fixture
def server(settings: Settings) -> Iterator[ModelServer]:
    with running(Anthropic()) as model:
        use(settings, model)
        model.play(Script(text=("hi",)))
        yield model


def written(messages: list[Message], model: str = "claude-sonnet-5-5", **fields: Any) -> dict[str, Any]:
    request = Request(model=model, messages=messages, **fields)
    body: dict[str, Any] = json.loads(AnthropicDialect(origin="here").write(request, model))
    return body


def user(text: str, **more: Any) -> Message:
    return {"role": "user", "content": text, **more}


def refused(message: str) -> Fault:
    return Fault(status=400, error={"type": "invalid_request_error", "message": message})


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        ("claude-opus-5-5", True),
        ("claude-sonnet-5", True),
        ("claude-haiku-5-5", True),
        ("claude-fable-5-1", True),
        ("claude-opus-4-6", True),
        ("anthropic/claude-opus-4.8", True),
        ("claude-opus-4-5-20251101", False),
        ("claude-haiku-4-5-20251001", False),
        ("claude-opus-4-20250514", False),
        ("claude-3-7-sonnet-20250219", False),
        ("deepseek-chat", False),
    ],
)
def test_models_that_decide_for_themselves_are_told_to_think(model: str, thinks: bool) -> None:
    assert ("thinking" in written([user("hi")], model)) is thinks


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("claude-sonnet-5-5", None, USUAL_OUTPUT_TOKENS),
        ("claude-sonnet-5-5", 40, 1_024),
        ("claude-haiku-4-5", 40, 40),
        ("claude-sonnet-5-5", 5_000, 5_000),
    ],
)
def test_the_cap_leaves_room_for_thinking(model: str, asked: int | None, sent: int) -> None:
    assert written([user("hi")], model, max_output_tokens=asked)["max_tokens"] == sent


def test_a_model_that_allows_less_output_is_believed(server: ModelServer) -> None:
    server.faults = [
        refused("max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-x")
    ]
    for _ in range(2):
        assert ask(server, model="claude-3-5-small")[0].text == "hi"
    assert [asked.body["max_tokens"] for asked in server.asked] == [USUAL_OUTPUT_TOKENS, 8192, 8192]


@pytest.mark.parametrize(
    "message",
    [
        "adaptive thinking is not supported on this model",
        "thinking.type: Input should be 'enabled' or 'disabled'",
        '"thinking.type.adaptive" is not supported for this model.',
    ],
)
def test_a_model_that_refuses_to_be_told_to_think_is_not_told_again(
    server: ModelServer, message: str
) -> None:
    server.faults = [refused(message)]
    model = f"claude-opus-9-{len(message)}"
    for _ in range(2):
        assert ask(server, model=model)[0].text == "hi"
    assert ["thinking" in asked.body for asked in server.asked] == [True, False, False]


def test_an_error_about_thinking_that_came_back_is_not_about_the_option(server: ModelServer) -> None:
    server.faults = [refused("messages.1.content.0: `thinking` blocks cannot be modified")]
    with pytest.raises(BadModelRequest, match="cannot be modified"):
        ask(server, model="claude-opus-8")
    ask(server, model="claude-opus-8")
    assert "thinking" in server.asked[-1].body


def test_a_server_without_cache_marks_is_not_sent_them_again(server: ModelServer) -> None:
    server.faults = [refused("messages.0.content.0.cache_control: Extra inputs are not permitted")]
    for _ in range(2):
        ask(server, model="claude-of-somebody-else", tools=TOOLS)
    assert ["cache_control" in json.dumps(asked.body) for asked in server.asked] == [True, False, False]


def test_an_account_without_credit_is_told_as_such(server: ModelServer) -> None:
    server.faults = [refused("Your credit balance is too low to access the Anthropic API.")]
    with pytest.raises(BadModelRequest, match="no credit left"):
        ask(server)


def test_marks_stand_before_what_changes() -> None:
    said = {"role": "assistant", "content": "ok"}
    messages = [{"role": "system", "content": "s"}, user("1"), said, user("2"), said, user("3")]
    messages += [user("facts", **{VOLATILE: True})]
    body = written(messages, tools=TOOLS)
    assert json.dumps(body).count("cache_control") == 4
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, {"type": "ephemeral"}]
    last = body["messages"][-1]["content"]
    assert [(block["text"], "cache_control" in block) for block in last] == [("3", True), ("facts", False)]
    assert ["cache_control" in json.dumps(message) for message in body["messages"]] == [
        *(False, False, True, False, True)
    ]


def test_notes_in_the_middle_join_the_side_of_the_person() -> None:
    messages = [
        user("hi"),
        {"role": "assistant", "content": "ok"},
        {"role": "system", "content": "It is done."},
    ]
    last = written(messages)["messages"][-1]
    assert last["role"] == "user" and last["content"][0]["text"] == f"{NOTE}\nIt is done."


def test_a_conversation_that_begins_with_an_answer_gets_a_beginning() -> None:
    first, second, _ = written([{"role": "assistant", "content": "Hello."}, user("hi")])["messages"]
    assert (first["role"], first["content"][0]["text"]) == ("user", BEGINNING)
    assert second["role"] == "assistant"


def test_blank_texts_are_left_out() -> None:
    messages = [user(""), {"role": "assistant", "content": " "}, user("  \n"), user("hi")]
    (only,) = written(messages)["messages"]
    assert [block["text"] for block in only["content"]] == ["(no text)", "(no text)", "hi"]


def test_arguments_that_are_no_object_are_sent_as_one() -> None:
    calls = [
        {"id": f"c{number}", "function": {"name": "a", "arguments": text}}
        for number, text in enumerate(["{", "[1]", "", '{"a": 1}'])
    ]
    said = {"role": "assistant", "content": None, "tool_calls": calls}
    blocks = written([user("hi"), said])["messages"][1]["content"]
    assert [block["input"] for block in blocks] == [{"unreadable": "{"}, {"value": [1]}, {}, {"a": 1}]


def test_a_schema_for_the_answer_is_sent_and_some_json_is_not() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    assert written([user("hi")], response_format=wanted)["output_config"] == {
        "format": {"type": "json_schema", "schema": {"type": "object"}}
    }
    assert "output_config" not in written([user("hi")], response_format={"type": "json_object"})


def test_a_picture_by_address_stays_one() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    (message,) = written([{"role": "user", "content": [picture]}])["messages"]
    assert message["content"][0]["source"] == {"type": "url", "url": "https://example.com/a.png"}


@pytest.mark.parametrize("text", ["Adding more.", "", "Add"])
def test_opaque_parts_come_first_where_the_text_no_longer_fits(text: str) -> None:
    given = {"type": "thinking", "thinking": "hm", "signature": "s"}
    layout = [{"text": 7}, {"given": given}, {"call": 0}]
    carry = Carry(origin="here", text=json.dumps({"message": {"layout": layout}, "calls": {}}))
    calls = [{"id": "c", "function": {"name": "a", "arguments": "{}"}}]
    said = {"role": "assistant", "content": text, "tool_calls": calls, CARRY: carry}
    kinds = [block["type"] for block in written([user("hi"), said])["messages"][1]["content"]]
    assert kinds == ["thinking", *(["text"] if text else []), "tool_use"]
