"""The AI Structured Response Generator against model servers: a schema where they take one, the retry where not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from blocks.adapters.model import PlatformModel
from blocks.errors import BlockFailed
from blocks.registry import get_registry
from blocks.run import run_block
from tests.blocks.doubles import make_context, make_ports
from tests.llm.dialect_servers import KEY, PROTOCOLS, Fault, ModelServer, Script, running

WANTED = {"name": "the person's name", "tags": "a list of words"}
GOOD = json.dumps({"name": "Ada", "tags": ["math"]})
REFUSALS = {
    "chat": "This response_format type is unavailable now",
    "anthropic": "output_config.format: Extra inputs are not permitted",
    "responses": "Unsupported parameter: 'text.format' is not supported with this model.",
}


@pytest.fixture(params=list(PROTOCOLS))
def server(request: pytest.FixtureRequest, settings: Settings) -> Iterator[ModelServer]:
    with running(PROTOCOLS[request.param]()) as running_one:
        settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.COPILOT_FALLBACK_MODEL = ""
        endpoint = {
            "name": "e",
            "url": running_one.url,
            "key": KEY,
            "dialect": request.param,
            "models": ["m"],
        }
        settings.COPILOT_ENDPOINTS, settings.COPILOT_MODEL = json.dumps([endpoint]), "e/m"
        yield running_one


def generate(**inputs: Any) -> Any:
    block = get_registry().get_by_name("AI Structured Response Generator")
    context = make_context(ports=replace(make_ports(), model=PlatformModel()))
    return dict(run_block(block, {"prompt": "Who?", "expected_format": WANTED} | inputs, context))["response"]


def schema_in(body: dict[str, Any]) -> Any:
    """The schema of a request, in whichever dialect it is written."""
    if "response_format" in body:
        assert body["response_format"]["json_schema"]["strict"] is True
        return body["response_format"]["json_schema"]["schema"]
    if "text" in body:
        assert body["text"]["format"]["strict"] is True
        return body["text"]["format"]["schema"]
    return body.get("output_config", {}).get("format", {}).get("schema")


def test_the_schema_of_the_keys_is_sent_in_each_dialect(server: ModelServer) -> None:
    server.play(Script(text=(GOOD,)))
    assert generate() == {"name": "Ada", "tags": ["math"]}
    schema = schema_in(server.asked[0].body)
    assert (schema["required"], schema["additionalProperties"]) == (["name", "tags"], False)
    assert schema["properties"]["name"]["description"] == "the person's name"
    assert "json_output" not in json.dumps(server.asked[0].body)


def test_a_list_is_wrapped_in_an_object_because_answers_are_objects(server: ModelServer) -> None:
    server.play(Script(text=(json.dumps({"items": [json.loads(GOOD)]}),)))
    assert generate(list_result=True) == [{"name": "Ada", "tags": ["math"]}]
    assert schema_in(server.asked[0].body)["properties"]["items"]["items"]["required"] == ["name", "tags"]


def test_a_server_that_refuses_the_schema_is_asked_without_it_from_then_on(server: ModelServer) -> None:
    server.play(Script(text=(f"Sure!\n```json\n{GOOD}\n```",)))
    error = {"type": "invalid_request_error", "message": REFUSALS[server.protocol.name]}
    server.faults = [Fault(status=400, error=error)]
    assert generate()["name"] == generate()["name"] == "Ada"
    assert [schema_in(asked.body) is None for asked in server.asked] == [False, True, True]


def test_a_refusal_that_names_no_field_is_tried_without_the_schema_too(server: ModelServer) -> None:
    server.play(Script(text=(GOOD,)))
    server.faults = [
        Fault(status=400, error={"type": "invalid_request_error", "message": "guided grammar: no"})
    ]
    assert generate()["name"] == "Ada"
    assert [schema_in(asked.body) is None for asked in server.asked] == [False, True]
    server.faults = [Fault(status=401, times=9)]
    with pytest.raises(BlockFailed):
        generate()
    assert len(server.asked) == 3, "a wrong key is no matter of the schema"


def test_an_answer_that_ignores_the_schema_is_told_what_is_wrong(server: ModelServer) -> None:
    server.play(Script(text=("Ada, I think.",)), Script(text=(f"<json_output>{GOOD}</json_output>",)))
    assert generate()["name"] == "Ada"
    first, second = (json.dumps(asked.body) for asked in server.asked)
    assert "json_output" not in first and "inside <json_output>" in second
    assert schema_in(server.asked[1].body) is None


@pytest.mark.parametrize("text", ["an object with street and city", "JSON of the parts", "a dict of counts"])
def test_a_value_that_may_be_an_object_is_left_to_the_model(server: ModelServer, text: str) -> None:
    server.play(Script(text=('<json_output>{"at": {"city": "Ulm"}}</json_output>',)))
    assert generate(expected_format={"at": text}) == {"at": {"city": "Ulm"}}
    assert schema_in(server.asked[0].body) is None
    assert "json_output" in json.dumps(server.asked[0].body)
