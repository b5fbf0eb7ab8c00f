"""Long work in the streams of turns: its progress in the one that started it, its end in the one it brings about."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from chat import engine, turns
from chat.delivery import reader
from chat.models import Session, Turn
from durable import event_log
from durable.redis import client
from durable.runtime import runtime
from tests.chat.delivery.test_reader import collect
from tests.chat.engine.conftest import run_turn
from tests.offline_server import OfflineServer
from tests.tools.conftest import eventually
from tools.models import Operation
from tools.operations import runner
from tools.operations.lifecycle import notify_changed

pytestmark = pytest.mark.django_db(transaction=True)
GATE = "until the work is done"


@pytest.fixture
def beside() -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Run something beside the test; joined at its end."""
    threads: list[threading.Thread] = []

    def start(work: Callable[[], Any]) -> None:
        def body() -> None:
            try:
                work()
            finally:
                connections.close_all()

        threads.append(threading.Thread(target=body, daemon=True))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def start_turn(session: Session, **arguments: Any) -> Turn:
    call = {"name": "test_operation", "arguments": arguments, "id": "call_long"}
    steps = [{"tool_calls": [call]}, {"gate": GATE, "text": "It goes on."}, {"text": "It came back."}]
    script = {"id": f"long-{session.pk}", "steps": steps}
    return turns.submit(session, turns.Input(text="SCRIPT:\n" + json.dumps(script))).turn


def news_in(entries: list[Any]) -> list[dict[str, Any]]:
    chunks = [json.loads(entry.body) for entry in entries]
    return [chunk for chunk in chunks if chunk["type"] == "data-operation"]


def run_operation(operation_id: uuid.UUID) -> None:
    runtime().run(Operation, operation_id, runner.run)


def test_progress_of_an_operation_is_in_the_stream_of_the_turn_that_started_it(
    session: Session, model: OfflineServer, tmp_path: Path, beside: Callable[[Callable[[], Any]], None]
) -> None:
    hold = tmp_path / "hold"
    turn = start_turn(session, note="fruit", hold=str(hold))
    beside(lambda: runtime().run(Turn, turn.pk, engine.run))
    seen: list[str] = []

    def step(entries: list[Any]) -> bool:
        """Go on with the world as the stream tells of it: start the work, end it, let the model answer."""
        news = news_in(entries)
        status = news[-1]["data"]["status"] if news else ""
        if status and "seconds gone" in news[-1]["data"]["message"]:
            hold.touch()
        if status and (not seen or seen[-1] != status):
            seen.append(status)
            if status == "queued":
                beside(lambda: run_operation(uuid.UUID(news[-1]["id"])))
            elif status == "completed":
                model.release(GATE)
        return False

    entries = asyncio.run(collect(reader.read(turn.pk), until=step))
    news = news_in(entries)
    operation = Operation.objects.get()
    assert seen == ["queued", "running", "completed"]
    assert all(chunk["transient"] and chunk["id"] == str(operation.pk) for chunk in news)
    running_news = [chunk["data"] for chunk in news if chunk["data"]["status"] == "running"]
    assert running_news[-1]["tool"] == "test_operation" and "seconds gone" in running_news[-1]["message"]
    assert news[-1]["data"] == {
        "id": str(operation.pk),
        "tool": "test_operation",
        "status": "completed",
        "progress": 1.0,
        "message": "The long work is done: fruit",
    }
    stored = event_log.stored(turn.pk)
    assert news_in(stored) == [], "a passing note is kept nowhere, so nobody who comes later sees a stale one"
    assert json.loads(stored[-1].body)["type"] == "finish"


def test_the_end_of_an_operation_opens_the_stream_of_the_turn_it_brings_about(
    session: Session, model: OfflineServer
) -> None:
    model.release(GATE)
    turn = start_turn(session, note="fruit")
    run_turn(turn)
    run_operation(Operation.objects.get().pk)
    continuation = session.turns.get(kind=Turn.Kind.CONTINUATION)
    run_turn(continuation)
    for read in (reader.read, reader.read_compact):
        entries = asyncio.run(collect(read(continuation.pk)))
        kinds = [json.loads(entry.body)["type"] for entry in entries]
        assert kinds[:3] == ["start", "data-operation", "start-step"]
        [news] = news_in(entries)
        assert "transient" not in news
        assert (news["data"]["status"], news["data"]["message"]) == (
            "completed",
            "The long work is done: fruit",
        )


def test_a_turn_that_ended_watches_nothing_any_more(
    session: Session, model: OfflineServer, beside: Callable[[Callable[[], Any]], None]
) -> None:
    turn = start_turn(session, seconds=60)
    beside(lambda: runtime().run(Turn, turn.pk, engine.run))
    eventually(lambda: watchers() == 1)
    model.release(GATE)
    eventually(lambda: watchers() == 0)
    turn.refresh_from_db()
    notify_changed(Operation.objects.get())
    assert news_in(event_log.stored(turn.pk)) == []


def watchers() -> int:
    """Who has asked Redis for news of the operation."""
    operation = Operation.objects.first()
    if operation is None:
        return 0
    counts: Any = client().pubsub_numsub(event_log.stream_key(operation.pk))
    return int(counts[0][1])
