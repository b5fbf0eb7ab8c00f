"""Encoded chunks: which may become one, and which must not."""

from __future__ import annotations

import json

import pytest

from chat import protocol
from chat.delivery.reader import merged
from chat.events import ProseDelta, ProseEnded, ToolInputDelta, ToolOutput, TurnEvent
from chat.protocol import Framed
from durable.event_log import LoggedEvent, Position


def body(event: TurnEvent) -> str:
    return Framed(event).encode()


@pytest.mark.parametrize("text", ["plain", 'quotes " and \\ and elta":"', "line\nbreak", "ü 漢 🎉"])
def test_deltas_of_one_part_become_one(text: str) -> None:
    delta = body(ProseDelta("text", "s0-p0", text))
    assert protocol.part_of(delta)
    assert json.loads(protocol.join([delta, delta])) == {
        "type": "text-delta",
        "id": "s0-p0",
        "delta": text + text,
    }


@pytest.mark.parametrize(
    "later",
    [
        ProseDelta("text", "s0-p1", "b"),
        ProseDelta("reasoning", "s0-p0", "b"),
        ProseEnded("text", "s0-p0"),
        ToolInputDelta("s0-p0", "b"),
        ToolOutput("s0-p0", {"elta": "x", "delta": "y"}),
    ],
)
def test_what_is_not_of_the_same_part_stays_apart(later: TurnEvent) -> None:
    assert protocol.part_of(body(ProseDelta("text", "s0-p0", "a"))) != protocol.part_of(body(later))


def test_only_deltas_are_joined() -> None:
    output = body(ToolOutput("call", {"delta": "x"}, preliminary=True))
    batch = [LoggedEvent(Position(1, n + 1), Position(1, n), output) for n in range(30)]
    assert merged(batch) == batch


def test_a_long_past_becomes_few_entries_with_the_same_text() -> None:
    events = [ProseDelta("text", "s0-p0", f"{n} ") for n in range(100)] + [ProseEnded("text", "s0-p0")]
    batch = [LoggedEvent(Position(1, n + 1), Position(1, n), body(event)) for n, event in enumerate(events)]
    few = merged(batch)
    assert [entry.at for entry in few] == [Position(1, 100), Position(1, 101)]
    assert json.loads(few[0].body)["delta"] == "".join(f"{n} " for n in range(100))
