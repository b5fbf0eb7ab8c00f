"""The same product on PostgreSQL and RabbitMQ: only URLs change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import Reader, Stack, as_text, eventually, running_stack
from tests.services import broker, prepared

__all__ = ["broker", "prepared"]

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def stack(short_tmp: Path, prepared: tuple[str, dict[str, str]], broker: str) -> Iterator[Stack]:
    database, keys = prepared
    with running_stack(
        short_tmp / "services", workers=2, webs=2, database_url=database, keys=keys, broker_url=broker
    ) as running:
        yield running


def test_turn_with_tools_is_answered_through_postgresql_and_rabbitmq(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    call = {"name": "test_effect", "arguments": {"note": "x"}}
    turn = client.send(session, {"steps": [{"text": "One. ", "tool_calls": [call]}, {"text": "Two."}]})
    reader = Reader(stack.client(web=1), turn["id"]).read_to_end()
    assert client.wait(turn["id"])["end_reason"] == "done"
    assert reader.text == client.answer(session)["content"] == "One. Two."


def test_killed_worker_is_taken_over_on_postgresql_and_rabbitmq(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    talk = {"chunks": 20, "delay": 0.01, "gate": "pg-kill", "gate_at": 10}
    turn = client.send(session, {"id": "pg-kill", "steps": [talk]})
    eventually(lambda: client.turn(turn["id"])["status"] == "running")
    for name in ("worker0", "worker1"):
        stack.kill(name)
    stack.release("pg-kill")
    stack.start_worker(2)
    ended = client.wait(turn["id"])
    assert (ended["end_reason"], ended["attempt"]) == ("done", 2)
    assert Reader(client, turn["id"]).read_to_end().text == client.answer(session)["content"]


def test_cancel_and_two_users_on_postgresql_and_rabbitmq(stack: Stack) -> None:
    ann, bob = stack.client("ann"), stack.client("bob", web=1)
    running = ann.send(ann.new_session(), {"id": "pg-cancel", "steps": [{"chunks": 2000, "delay": 0.05}]})
    eventually(lambda: ann.turn(running["id"])["status"] == "running")
    assert bob.http.post(f"/api/turns/{running['id']}/cancel").status_code == 404
    quick = bob.send(bob.new_session(), {"steps": [{"text": "quick"}]})
    assert bob.wait(quick["id"])["end_reason"] == "done"
    assert ann.http.post(f"/api/turns/{running['id']}/cancel").json()["cancelled"] is True


def test_sub_sessions_wait_and_come_back_on_postgresql_and_rabbitmq(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()

    def task(number: int, **more: object) -> dict[str, object]:
        prompt = as_text({"steps": [{"text": f"Answer {number}."}]})
        arguments = {"prompt": prompt, **more}
        return {"id": f"c{number}", "name": "run_sub_session", "arguments": arguments}

    calls = [task(1), task(2), task(3, wait_for_result=0, notify=True)]
    steps = [{"tool_calls": calls}, {"text": "Two are here."}, {"text": "And the third."}]
    turn = client.send(session, {"id": "pg-tasks", "steps": steps})
    assert client.wait(turn["id"])["end_reason"] == "done"
    eventually(lambda: client.answer(session)["content"] == "And the third.", what="the call back")
    first = client.session(session)["messages"][1]
    outputs = [part["output"] for part in first["parts"] if part["type"] == "tool-run_sub_session"]
    assert [output["response"] for output in outputs] == ["Answer 1.", "Answer 2.", "Answer 3."]
