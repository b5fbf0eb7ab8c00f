"""What a turn came to, as those who wait for it read it: the same from the stream and from the rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from chat import replay, turn_log
from chat.models import Turn
from chat.protocol import FoldedTurn, fold_turn
from chat.sub_sessions import outcome
from chat.sub_sessions.port import Activity
from durable import event_log
from durable.event_log import LoggedEvent, Position, standing
from tests.chat.delivery.fake_worker import FakeWorker
from tests.chat.delivery.test_state_equals_fetch import SCENARIOS, Scenario


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_stream_and_the_rows_come_to_the_same(
    scenario: Scenario, turn: Turn, send: Callable[..., Turn]
) -> None:
    scenario(turn, send)
    turn.refresh_from_db()
    live = fold_turn(entry.body for entry in standing(event_log.stored(turn.pk)))
    rows = fold_turn(replay.snapshot(turn.pk).chunks)
    assert (live.text, live.calls, live.error, live.metadata) == (
        rows.text,
        rows.calls,
        rows.error,
        rows.metadata,
    )
    words = "".join(live.text.split())
    assert words == "".join(turn_log.answer_text(turn).split())
    assert live.metadata["status"] == turn.status


def test_a_running_turn_is_read_with_what_is_not_committed_yet(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("So far")
    worker.lease.emitter.flush(5)
    told = outcome.replayed(turn)
    assert told.text == "So far" and told.metadata["turn_id"] == str(turn.pk)
    report = outcome.report_on(turn.pk)
    assert (report.status, report.text) == ("running", "So far")
    worker.finish()


def test_what_a_new_attempt_voids_is_forgotten() -> None:
    told = FoldedTurn()
    chunks: list[dict[str, Any]] = [
        {"type": "start-step"},
        {"type": "text-start", "id": "a"},
        {"type": "text-delta", "id": "a", "delta": "void"},
        {"type": "data-turn", "id": "turn", "data": {"attempt": 2, "reset_to_step": 0}},
        {"type": "start-step"},
        {"type": "text-start", "id": "a"},
        {"type": "text-delta", "id": "a", "delta": "stands"},
    ]
    for chunk in chunks:
        told.apply(chunk)
    assert told.text == "stands"


# --- what it does now -------------------------------------------------------------------------------


def news(*chunks: dict[str, Any]) -> str:
    entries = [
        LoggedEvent(Position(1, n), Position(1, n - 1), encoded(chunk)) for n, chunk in enumerate(chunks, 1)
    ]
    return "\n".join(entry.line() for entry in entries)


def encoded(chunk: dict[str, Any]) -> str:
    return json.dumps(chunk, separators=(",", ":"))


def tool(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": f"tool-{kind}", "toolCallId": "c1", **more}


def test_activity_follows_what_the_turn_says() -> None:
    activity, seen = Activity(), []
    for chunk in [
        {"type": "start-step"},
        {"type": "text-start", "id": "a"},
        tool("input-start", toolName="web_fetch"),
        tool("input-available", toolName="web_fetch", input={}),
        tool("output-available", output={"message": "2 of 5 pages."}, preliminary=True),
        tool("output-available", output={"message": "Done."}),
    ]:
        assert activity.apply(news(chunk))
        seen.append(activity.text)
    assert seen == [
        "thinks",
        "writes its answer",
        "prepares web_fetch",
        "uses web_fetch",
        "uses web_fetch: 2 of 5 pages",
        "thinks",
    ]


def test_words_of_an_answer_are_no_news_and_its_end_is() -> None:
    activity = Activity()
    assert not activity.apply(news({"type": "text-delta", "id": "a", "delta": "word"}))
    assert activity.apply(news({"type": "finish", "finishReason": "stop"}))
    assert activity.apply(None), "something may have been missed"
