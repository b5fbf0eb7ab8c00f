"""What is the Responses API's alone: options that models refuse, and items that come without a stream of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from llm.answer import AnswerCollector
from llm.dialects.responses import ResponsesDialect
from llm.errors import BadModelRequest
from llm.types import Delta, Request
from tests.llm.dialect_servers import Fault, ModelServer, Responses, Script, running
from tests.llm.test_dialects import ask, use


@pytest.fixture
def server(settings: Settings) -> Iterator[ModelServer]:
    with running(Responses()) as model:
        use(settings, model)
        model.play(Script(text=("hi",)))
        yield model


@pytest.mark.parametrize(
    ("error", "field"),
    [
        ({"message": "Encrypted content is not supported with this model.", "param": "include"}, "include"),
        (
            {"message": "Unsupported parameter: 'reasoning.summary'", "param": "reasoning.summary"},
            "reasoning",
        ),
        ({"message": "Your organization must be verified to generate reasoning summaries."}, "reasoning"),
        ({"message": "Unsupported parameter: 'temperature'", "param": "temperature"}, "temperature"),
    ],
)
def test_an_option_that_a_model_refuses_is_left_out(
    server: ModelServer, error: dict[str, Any], field: str
) -> None:
    server.faults = [Fault(status=400, error=error)]
    server.protocol.check = lambda asked: None  # type: ignore[method-assign]
    ask(server, model=f"old-{error['message']}", temperature=0.5)
    assert [field in asked.body for asked in server.asked] == [True, False]


def test_an_error_about_an_item_is_not_about_an_option(server: ModelServer) -> None:
    message = (
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."
    )
    server.faults = [Fault(status=400, error={"message": message})]
    with pytest.raises(BadModelRequest, match="required"):
        ask(server, model="strict")
    ask(server, model="strict")
    assert "reasoning" in server.asked[-1].body


def read(*events: dict[str, Any]) -> AnswerCollector:
    heard: list[Delta] = []
    answer = ResponsesDialect().answer(heard.append)
    for event in events:
        answer.take([json.dumps(event).encode()])
    return answer


DONE: dict[str, Any] = {"type": "response.completed", "response": {"status": "completed", "output": []}}
CALL = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'}
MESSAGE = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hello."}]}


def test_items_that_come_whole_are_read() -> None:
    items = [
        {"type": "response.output_item.done", "output_index": n, "item": i}
        for n, i in enumerate([MESSAGE, CALL])
    ]
    answer = read(*items, DONE)
    assert (answer.text(), answer.finish()) == ("Hello.", "tool_calls")
    assert answer.tool_calls()[0].arguments == '{"a": 1}'


def test_items_that_come_at_the_end_alone_are_read_once() -> None:
    end = {"type": "response.completed", "response": {"status": "completed", "output": [MESSAGE, CALL]}}
    answer = read({"type": "response.created", "response": {}}, end)
    assert (answer.text(), len(answer.tool_calls())) == ("Hello.", 1)


@pytest.mark.parametrize(
    ("details", "reason"),
    [({"reason": "max_output_tokens"}, "length"), ({"reason": "content_filter"}, "content_filter")],
)
def test_an_incomplete_response_says_why(details: dict[str, str], reason: str) -> None:
    end = {"status": "incomplete", "output": [MESSAGE], "incomplete_details": details}
    answer = read({"type": "response.incomplete", "response": end})
    assert (answer.text(), answer.finish()) == ("Hello.", reason)


@pytest.mark.parametrize(
    "wanted", [{"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "n"}}]
)
def test_a_format_for_the_answer_is_sent(wanted: dict[str, Any]) -> None:
    request = Request(model="m", messages=[{"role": "user", "content": "hi"}], response_format=wanted)
    body = json.loads(ResponsesDialect().write(request, "m"))
    assert body["text"]["format"] == {"type": wanted["type"], **wanted.get("json_schema", {})}
