"""A turn's events become OpenAI's: numbers that any replay repeats, and no mixture of two answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chat.events import (
    AttemptStarted,
    ProseDelta,
    ProseEnded,
    ProseStarted,
    StepStarted,
    TurnEvent,
    TurnStarted,
)
from chat.models import Session, Turn
from chat.protocol import Framed
from doors.openai import ids
from doors.openai.access import Caller
from doors.openai.completion_object import AnswerRestarted, CompletionTranslator
from doors.openai.response_events import ResponseTranslator
from durable.event_log import START, LoggedEvent, Position


@pytest.fixture
def turn(caller: Caller) -> Turn:
    session = Session.objects.create(user=caller.user)
    return Turn.objects.create(session=session, user=caller.user, status=Turn.RUNNING, attempt=1)


def logged(*events: TurnEvent, attempt: int = 1, first: int = 1) -> list[LoggedEvent]:
    places = [Position(attempt, first + number) for number in range(len(events))]
    return [LoggedEvent(at, START, Framed(event).encode()) for at, event in zip(places, events, strict=True)]


def text(*pieces: str) -> list[TurnEvent]:
    return [ProseStarted("text", "s0-p0"), *(ProseDelta("text", "s0-p0", piece) for piece in pieces)]


BEGINNING = logged(TurnStarted("m", {}), StepStarted(), *text("Hello ", '"wor'))
TAKEOVER: list[TurnEvent] = [AttemptStarted(2, 0), StepStarted()]


def test_numbers_grow_with_the_place_and_a_later_attempt_is_above() -> None:
    numbers = [
        ids.sequence_number(Position(attempt, seq), sub)
        for attempt in (1, 2)
        for seq in (1, 2)
        for sub in (0, 1)
    ]
    assert numbers == sorted(set(numbers))
    assert ids.sequence_number(Position(900, 10**9), 63) < 2**53


def test_abandoned_item_is_closed_as_incomplete_and_another_follows(turn: Turn) -> None:
    again = logged(*TAKEOVER, *text("Other"), ProseEnded("text", "s0-p0"), attempt=2)
    bodies = events(turn, [*BEGINNING, *again])
    closed = [body["item"] for body in bodies if body["type"] == "response.output_item.done"]
    assert [item["status"] for item in closed] == ["incomplete", "completed"]
    assert [item["content"][0]["text"] for item in closed] == ['Hello "wor', "Other"]
    assert closed[0]["id"] != closed[1]["id"]
    numbers = [body["sequence_number"] for body in bodies]
    assert numbers == sorted(set(numbers))
    for place, body in enumerate(bodies):
        rest = events(turn, [*BEGINNING, *again], after=body["sequence_number"])
        assert rest == bodies[place + 1 :]


def events(turn: Turn, entries: list[LoggedEvent], *, after: int = -1) -> list[dict[str, Any]]:
    translator = ResponseTranslator(turn, after=after)
    return [read(text) for text in [*translator.opening(), *translator.translate(entries)]]


def read(event: str) -> dict[str, Any]:
    """Return the JSON of a server-sent event, which has one line of it."""
    lines = event.splitlines()
    assert event.endswith("\n\n")
    body: dict[str, Any] = json.loads(lines[-2].removeprefix("data: "))
    assert len(lines) == (2 if "choices" in body else 3)
    return body


def test_unicode_line_breaks_do_not_split_an_event(turn: Turn) -> None:
    entries = [*BEGINNING, *logged(ProseDelta("text", "s0-p0", "a\u2028b\x85"), first=5)]
    assert events(turn, entries)[-1]["delta"] == "a\u2028b\x85"
    assert chunks(turn, entries) == 'Hello "wora\u2028b\x85'


def chunks(turn: Turn, entries: list[LoggedEvent]) -> str:
    translator = CompletionTranslator(turn, include_usage=False)
    found = [read(chunk) for chunk in translator.translate(entries)]
    return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in found)


def test_completion_skips_what_was_sent_before_a_takeover(turn: Turn) -> None:
    again = logged(*TAKEOVER, *text("Hel", 'lo "', 'world"', "!"), attempt=2)
    assert chunks(turn, [*BEGINNING, *again]) == 'Hello "world"!'


def test_completion_that_differs_after_a_takeover_is_an_error_and_no_mixture(turn: Turn) -> None:
    again = logged(*TAKEOVER, *text("Good morning"), attempt=2)
    with pytest.raises(AnswerRestarted):
        chunks(turn, [*BEGINNING, *again])
    shorter = logged(*TAKEOVER, *text("Hello"), attempt=2)
    translator = CompletionTranslator(turn, include_usage=False)
    assert list(translator.translate([*BEGINNING, *shorter]))
    with pytest.raises(AnswerRestarted):
        translator.closing(turn)
