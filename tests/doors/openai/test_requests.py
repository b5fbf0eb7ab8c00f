"""Bodies of both protocols are read as the same request; what cannot be honoured is refused by its name."""

from __future__ import annotations

from typing import Any

import pytest

from doors.openai import chat_request, responses_request
from doors.openai.asked import ClientToolResult, hash_of
from doors.openai.errors import UnusableRequest

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
FLAT = {"type": "function", "name": "look", "parameters": {"type": "object"}}


def chat(**body: Any) -> Any:
    return chat_request.read({"model": "copilot", "messages": [{"role": "user", "content": "Hi"}], **body})


def respond(**body: Any) -> Any:
    return responses_request.read({"model": "copilot", "input": "Hi", **body})


def test_both_protocols_ask_the_same() -> None:
    schema = {"name": "thing", "schema": {"type": "object"}, "strict": True}
    one = chat(tools=[TOOL], response_format={"type": "json_schema", "json_schema": schema}, temperature=1)
    other = respond(tools=[FLAT], text={"format": {"type": "json_schema", **schema}}, temperature=1)
    assert (one.text, one.options.tools) == (other.text, other.options.tools)
    assert one.options.response_format == other.options.response_format
    assert one.options.temperature == other.options.temperature == 1.0


def test_history_results_and_new_message_are_told_apart() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "One"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "seen"},
        {"role": "user", "content": "Two"},
    ]
    asked = chat(messages=messages)
    assert asked.options.instructions == "Be brief."
    assert [message["role"] for message in asked.history] == ["user", "assistant"]
    assert asked.results == [ClientToolResult(call_id="call_1", output="seen")]
    assert (asked.text, asked.has_message) == ("Two", True)
    without = chat(messages=messages[:-1])
    assert (without.text, without.has_message) == ("", False)
    items = [
        {"role": "user", "content": "One"},
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
    ]
    same = respond(input=items)
    assert (list(same.history), same.results) == (list(without.history), without.results)


def test_hash_is_of_what_the_client_said_and_not_of_the_answers() -> None:
    said = [{"role": "user", "content": "One"}, {"role": "assistant", "content": "Answer"}]
    assert hash_of(said) == hash_of(said[:1]) != ""
    assert hash_of(said[1:]) == ""
    assert hash_of([{"role": "user", "content": "Other"}]) != hash_of(said)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 2),
        ("n", True),
        ("stop", ["x"]),
        ("top_p", 0.5),
        ("logprobs", True),
        ("seed", 1),
        ("reasoning_effort", "high"),
        ("modalities", ["audio"]),
        ("temperature", 3),
        ("temperature", True),
        ("max_tokens", 0),
        ("stream", "yes"),
        ("tools", [{"type": "web_search"}]),
        ("tools", [TOOL, TOOL]),
        ("tools", [{"type": "function", "function": {"name": "a b"}}]),
        ("tool_choice", "maybe"),
        ("tool_choice", {"type": "function", "function": {"name": "other"}}),
        ("response_format", {"type": "json_schema"}),
        ("response_format", {"type": "xml"}),
        ("metadata", {"a": 1}),
        ("metadata", {"a": "x" * 600}),
        ("messages", [{"role": "system", "content": "only this"}]),
        (
            "messages",
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://a"}}]}],
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_would_change_the_answer_and_cannot_be_honoured_is_refused(field: str, value: Any) -> None:
    with pytest.raises(UnusableRequest) as error:
        chat(**{field: value})
    assert error.value.param is not None
    assert error.value.param.startswith(field)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 1),
        ("top_p", 1),
        ("stop", None),
        ("presence_penalty", 0),
        ("logprobs", False),
        ("something", [1]),
    ],
    ids=str,
)
def test_neutral_values_and_unknown_fields_are_accepted(field: str, value: Any) -> None:
    assert chat(**{field: value}).text == "Hi"


@pytest.mark.parametrize(
    "body",
    [
        {"background": True, "store": False},
        {"previous_response_id": "resp_1", "conversation": "c"},
        {"conversation": 5},
        {"input": [{"type": "computer_call"}]},
        {"input": []},
        {"reasoning": {"effort": "high"}},
        {"text": {"verbosity": "low"}},
        {"max_tool_calls": 1},
    ],
    ids=str,
)
def test_responses_that_cannot_be_kept_are_refused(body: dict[str, Any]) -> None:
    with pytest.raises(UnusableRequest):
        respond(**body)
