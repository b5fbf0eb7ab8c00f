"""A follow-up is made in chat and comes true once, though the worker that submits it is killed with -9."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import Client, Stack, eventually, running_stack

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    with running_stack(short_tmp / "follow-ups", workers=0) as running:
        yield running


def follow_up_messages(client: Client, session: str) -> list[str]:
    shown = client.session(session)
    said = [message["content"] for message in shown["messages"] if message["role"] == "user"]
    return [text for text in said if text.startswith("Scheduled follow-up:")]


def test_a_follow_up_survives_the_death_of_its_worker_and_comes_once(stack: Stack) -> None:
    stack.start_worker(0, crash_at="follow_up_submitted")
    stack.wait_ready(1)
    client = stack.client()
    session = client.new_session()
    call = {
        "id": "c1",
        "name": "schedule_followup",
        "arguments": {"prompt": "Look again", "in_minutes": 0.02},
    }
    turn = client.send(session, {"id": "later", "steps": [{"tool_calls": [call]}, {"text": "I will."}]})
    eventually(lambda: client.turn(turn["id"])["status"] in ("completed", "running"), what="the first turn")
    eventually(lambda: stack.processes["worker0"].poll() is not None, what="the death of the worker")
    stack.start_worker(1)
    eventually(lambda: follow_up_messages(client, session), what="the follow-up")
    eventually(lambda: client.session(session)["status"] == "idle", what="the end of its turn")
    assert follow_up_messages(client, session) == ["Scheduled follow-up: Look again"]
    assert client.http.get("/api/follow-ups").json() == []
    assert client.answer(session)["content"]
