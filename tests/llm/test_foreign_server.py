"""Against a server of somebody else in all three protocols: aimock, which wants thinking back in tool loops."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from pytest_django import Settings

import llm
from llm import BadModelRequest, RateLimited, ReasoningDelta, TextDelta
from tests.harness import free_port
from tests.llm.conftest import PATIENT, Asked
from tests.llm.test_dialects import ADD, MODEL, answer_message, results, user
from tests.needs import FOREIGN_MODEL, FOREIGN_MODEL_PACKAGES, node_program, require

KEY = "sk-test-of-ratchet-0123456789abcdef"
START_SECONDS = 60
CALL = {"name": "add", "arguments": '{"a": 1}'}
FIXTURES = [
    {
        "match": {"userMessage": "add", "turnIndex": 0},
        "response": {
            "reasoning": "let me see",
            "content": "Adding.",
            "toolCalls": [CALL | {"id": "call_1"}, {"name": "add", "arguments": '{"a": 2}', "id": "call_2"}],
            "usage": {"input_tokens": 11, "output_tokens": 7},
        },
    },
    {"match": {"userMessage": "add", "turnIndex": 1}, "response": {"content": "Three, all in all."}},
    {
        "match": {"userMessage": "limit"},
        "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429},
    },
    {
        "match": {"userMessage": "gone"},
        "response": {"error": {"message": "no such model", "type": "not_found_error"}, "status": 404},
    },
    {"match": {"userMessage": "long"}, "response": {"content": "word " * 500, "finishReason": "length"}},
]


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running one, with the answers above and nothing else."""
    require(FOREIGN_MODEL)
    folder = tmp_path_factory.mktemp("aimock")
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}))
    program = FOREIGN_MODEL_PACKAGES / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    port = free_port()
    options = [
        "--port",
        str(port),
        "--fixtures",
        str(folder / "fixtures.json"),
        "--strict",
        "--validate-on-load",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [node_program(), str(program), *options], cwd=folder, stdout=log, stderr=log
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not is_up(port):
                assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def is_up(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health", timeout=2).is_success
    except httpx.HTTPError:
        return False


@pytest.fixture(params=["chat", "anthropic", "responses"])
def dialect(request: pytest.FixtureRequest, settings: Settings, aimock: str) -> str:
    name: str = request.param
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = ""
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = settings.COPILOT_FALLBACK_MODEL = ""
    if name == "anthropic":
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = KEY, aimock
    else:
        settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = KEY, f"{aimock}/v1"
        settings.OPENAI_DIALECT = name
    httpx.post(f"{aimock}/__aimock/reset/journal", timeout=10)
    return name


def ask(dialect: str, messages: list[dict[str, object]]) -> tuple[llm.Completion, Asked]:
    model = MODEL[dialect] if dialect != "chat" else "deepseek-reasoner"  # it knows who thinks aloud
    asked = Asked(model=model, tools=[ADD], policy=PATIENT)
    asked.request = replace(asked.request, messages=messages)
    return asked.run(), asked


def test_a_turn_with_tools_and_thinking(dialect: str) -> None:
    messages: list[dict[str, object]] = [{"role": "system", "content": "Be brief."}, user("add")]
    first, asked = ask(dialect, messages)
    assert (first.text, first.reasoning, first.finish_reason) == ("Adding.", "let me see", "tool_calls")
    assert [json.loads(call.arguments) for call in first.tool_calls] == [{"a": 1}, {"a": 2}]
    assert asked.of(ReasoningDelta) and asked.of(TextDelta)
    assert (first.usage.input_tokens, first.usage.output_tokens) == (11, 7) and not first.usage.estimated
    second, _ = ask(dialect, [*messages, answer_message(first), *results(first)])
    assert (second.text, second.finish_reason) == ("Three, all in all.", "stop")


def test_errors_and_ends_are_ours(dialect: str) -> None:
    with pytest.raises(RateLimited):
        ask(dialect, [user("limit")])
    assert ask(dialect, [user("long")])[0].finish_reason == "length"
    with pytest.raises(BadModelRequest):
        ask(dialect, [user("gone")])


def test_its_models_are_listed(dialect: str) -> None:
    assert llm.found_models(llm.endpoints.current_endpoint())
