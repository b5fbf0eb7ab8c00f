"""Streams of servers that lie: whatever stands in an event, the outcome is an answer or a typed failure."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from llm import limits
from llm.answer import AnswerCollector
from llm.carry import CARRY
from llm.dialects import DIALECTS
from llm.failures import TryFailed
from llm.transport import EventSplitter
from llm.types import Delta, Request
from tests.llm.dialect_servers import PROTOCOLS, Script

SCRIPT = Script(
    thoughts=("let me ", "see"),
    redacted=True,
    text=("Adding ", "it."),
    calls=(("call_a", "add", ('{"a"', ": 1}")), ("call_b", "add", ('{"a": 2}',))),
)
HOSTILE: list[Any] = [
    None,
    True,
    -1,
    10**400,
    1e308,
    "",
    "\x00\ud800",
    [],
    [[]],
    {},
    {"type": {}},
    [{"type": "text"}],
]
ORIGIN = "here"


def events_of(name: str) -> list[dict[str, Any]]:
    splitter = EventSplitter()
    found = [event for chunk in PROTOCOLS[name]().events(SCRIPT, 0) for event in splitter.feed(chunk)]
    return [json.loads(event) for event in found if event != b"[DONE]"]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a value, the inner ones too."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inner:
        yield (*path, key)
        yield from places(member, (*path, key))


def with_value(event: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(event)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def read(name: str, events: list[dict[str, Any]]) -> AnswerCollector | None:
    """The answer, where these events are one."""
    heard: list[Delta] = []
    answer = DIALECTS[name](origin=ORIGIN).answer(heard.append)
    try:
        for event in events:
            answer.take([json.dumps(event).encode()])
        answer.finish()
    except TryFailed:
        return None
    for text in (
        answer.text(),
        answer.reasoning(),
        *(call.arguments + call.name for call in answer.tool_calls()),
    ):
        text.encode()  # fit to be stored
    return answer


def send_back(name: str, answer: AnswerCollector) -> None:
    """Whatever was accepted can be sent back."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in answer.tool_calls()
    ]
    said = {"role": "assistant", "content": answer.text(), "tool_calls": calls, CARRY: answer.carry(ORIGIN)}
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "1"} for call in calls]
    request = Request(model="m", messages=[{"role": "user", "content": "hi"}, said, *results])
    assert json.loads(DIALECTS[name](origin=ORIGIN).write(request, "m"))


@pytest.mark.parametrize("name", list(PROTOCOLS))
def test_any_value_anywhere_is_an_answer_or_a_failure(name: str) -> None:
    events = events_of(name)
    read_whole = 0
    for number, event in enumerate(events):
        for path in places(event):
            for value in HOSTILE:
                changed = [*events[:number], with_value(event, path, value), *events[number + 1 :]]
                answer = read(name, changed)
                if answer is not None:
                    read_whole += 1
                    send_back(name, answer)
    assert read_whole > 100  # most of what is in an event means nothing to us


@pytest.mark.parametrize("name", list(PROTOCOLS))
def test_events_that_are_missing_doubled_or_in_another_order(name: str) -> None:
    events = events_of(name)
    for number in range(len(events)):
        for changed in (
            events[:number] + events[number + 1 :],
            events[: number + 1] + events[number:],
            events[number:] + events[:number],
            events[:number][::-1] + events[number:],
        ):
            answer = read(name, changed)
            if answer is not None:
                send_back(name, answer)


@pytest.mark.parametrize("name", ["anthropic", "responses"])
def test_what_is_too_large_to_carry_is_dropped_and_the_answer_stands(name: str) -> None:
    huge = "x" * limits.MAX_CARRY_CHARACTERS
    text = (
        json.dumps(events_of(name)).replace("sig-OPAQUE", f"sig-{huge}").replace("enc-OPAQUE", f"enc-{huge}")
    )
    answer = read(name, json.loads(text))
    assert answer is not None and answer.text() == "Adding it."
    assert not answer.carry(ORIGIN)
