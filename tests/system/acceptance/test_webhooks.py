"""Webhooks from outside: a real receiver, real workers, one of them killed between sending and writing it down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Client, Stack, eventually, running_stack
from tests.webhooks.receiver import Receiver, receiving, verify

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture(scope="module")
def stack(short_tmp: Path, receiver: Receiver) -> Iterator[Stack]:
    env = {"BOUNDARY_ALLOWED_HOSTS": receiver.host}
    with running_stack(short_tmp / "webhooks", workers=0, env=env) as running:
        yield running


def new_endpoint(client: Client, receiver: Receiver) -> dict[str, Any]:
    answer = client.http.post("/api/webhooks", json={"url": receiver.url})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def log_of(client: Client, endpoint: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.http.get(f"/api/webhooks/{endpoint['id']}/deliveries").json()[
        "results"
    ]
    return found


def heard(receiver: Receiver, secret: str) -> list[dict[str, Any]]:
    return [verify(secret, message) for message in list(receiver.messages)]


def test_what_ended_is_told_also_when_the_worker_dies_right_after_sending(
    stack: Stack, receiver: Receiver
) -> None:
    client = stack.client()
    endpoint = new_endpoint(client, receiver)
    stack.start_worker(0, crash_at="webhook_sent")
    session = client.new_session()
    call = {"name": "test_operation", "arguments": {"note": "fruit"}, "id": "call_long"}
    steps = [{"tool_calls": [call]}, {"text": "It goes on."}, {"text": "It came back."}]
    turn = client.send(session, {"id": "hooked", "steps": steps})

    eventually(lambda: stack.processes["worker0"].poll() is not None, what="the worker's death")
    [first, *_] = receiver.ids
    stack.start_worker(1)

    def all_delivered() -> bool:
        log = log_of(client, endpoint)
        return len(log) == 3 and all(row["status"] == "completed" for row in log)

    eventually(all_delivered, what="three deliveries: the turn, the operation and its continuation")
    told = heard(receiver, endpoint["secret"])
    assert {(body["type"], body["data"]["status"]) for body in told} == {
        ("turn.finished", "completed"),
        ("operation.finished", "completed"),
    }
    assert str(turn["id"]) in {body["data"].get("turn_id") for body in told}
    assert "It came back." in {body["data"].get("text") for body in told}
    ids = {row["event_id"] for row in log_of(client, endpoint)}
    assert set(receiver.ids) == ids and len(ids) == 3
    assert receiver.ids.count(first) == 2, "the one whose sender died came twice, under one id"
    assert [row["tries"] for row in log_of(client, endpoint)] == [1, 1, 1], "the unwritten try was never one"
