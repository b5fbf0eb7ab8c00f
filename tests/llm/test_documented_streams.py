"""Streams as the providers' documentation shows them, in `streams/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llm.answer import AnswerCollector
from llm.dialects import DIALECTS
from llm.errors import ModelRefused
from llm.failures import TryFailed
from llm.retry import Kind
from llm.transport import EventSplitter

STREAMS = Path(__file__).parent / "streams"


def read(dialect: str, name: str) -> AnswerCollector:
    stream = (STREAMS / f"{name}.txt").read_bytes()
    answer, splitter = DIALECTS[dialect]().answer(lambda delta: None), EventSplitter()
    answer.take(splitter.feed(stream))
    return answer


def carried(answer: AnswerCollector) -> list[dict[str, Any]]:
    return answer.carry("here").layout()


def test_anthropic_tool_use() -> None:
    answer = read("anthropic", "anthropic_tool_use")
    assert (answer.finish(), answer.done) == ("tool_calls", True)
    assert answer.text() == "Okay, let's check the weather for San Francisco, CA:"
    (call,) = answer.tool_calls()
    assert (call.id, call.name) == ("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather")
    assert json.loads(call.arguments) == {"location": "San Francisco, CA"}
    assert answer.usage is not None and (answer.usage.input_tokens, answer.usage.output_tokens) == (472, 89)
    assert not answer.carry("here")


def test_anthropic_thinking_with_a_cache() -> None:
    answer = read("anthropic", "anthropic_thinking")
    assert answer.finish() == "stop"
    assert answer.reasoning().startswith("I need to find the GCD")
    usage = answer.usage
    assert usage is not None and usage.input_tokens == 21 + 188_086 + 1_000
    assert (usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens) == (1_000, 188_086, 64)
    thinking, redacted, text = carried(answer)
    assert thinking["given"]["signature"] == "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds..."
    assert thinking["given"]["thinking"] == answer.reasoning()
    assert redacted["given"]["type"] == "redacted_thinking" and text == {"text": len(answer.text())}


def test_responses_function_call_with_reasoning() -> None:
    answer = read("responses", "responses_function_call")
    assert (answer.finish(), answer.done) == ("tool_calls", True)
    assert answer.reasoning() == "**Looking at the weather**"
    (call,) = answer.tool_calls()
    assert call.id == "call_DdmO9pD3xa9XTPNJ32zg2hcA" and json.loads(call.arguments) == {
        "location": "Paris, France"
    }
    usage = answer.usage
    assert usage is not None
    assert (usage.input_tokens, usage.cached_tokens, usage.reasoning_tokens) == (37, 20, 5)
    reasoning, made = carried(answer)
    assert reasoning["given"] == {
        "id": "rs_67ccd",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "**Looking at the weather**"}],
        "encrypted_content": "gAAAAABoISQ24OyVRYbkYfukdJoqdzWT",
    }
    assert made == {"call": 0, "as": {"id": "fc_67ccd"}}


def test_anthropic_refusal_in_the_middle_of_an_answer() -> None:
    """What came before it is no answer; the explanation is for the person."""
    answer = read("anthropic", "anthropic_refusal")
    with pytest.raises(TryFailed) as caught:
        answer.finish()
    error = caught.value.failure.error
    assert isinstance(error, ModelRefused) and "could enable cyber harm" in error.user_message


def test_responses_refusal_and_incomplete() -> None:
    answer = read("responses", "responses_refusal")
    with pytest.raises(TryFailed) as caught:
        answer.finish()
    assert isinstance(caught.value.failure.error, ModelRefused)
    assert "can't help" in caught.value.failure.error.user_message
    answer = read("responses", "responses_incomplete")
    assert (answer.finish(), answer.text()) == ("length", "In a quiet")


@pytest.mark.parametrize(
    ("dialect", "stream", "kind"),
    [
        ("anthropic", "anthropic_overloaded", Kind.UNAVAILABLE),
        ("responses", "responses_failed", Kind.UNAVAILABLE),
        ("responses", "responses_error", Kind.RATE_LIMITED),
    ],
)
def test_errors(dialect: str, stream: str, kind: Kind) -> None:
    with pytest.raises(TryFailed) as caught:
        read(dialect, stream)
    assert caught.value.failure.kind is kind
