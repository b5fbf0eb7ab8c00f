"""A conversation with a tool of an MCP server: approved, killed, answered once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.connections.running_servers import SdkServer, sdk_server
from tests.harness import Client, Stack, eventually

pytestmark = pytest.mark.chaos


@pytest.fixture
def mill(tmp_path: Path) -> Iterator[SdkServer]:
    with sdk_server(tmp_path / "tasks.json") as running:
        yield running


def call(name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"id": call_id, "name": name, "arguments": arguments}]}


def waiting(client: Client) -> list[dict[str, Any]]:
    return list(client.http.get("/api/reviews", params={"state": "waiting"}).json()["results"])


def add_mill(client: Client, mill: SdkServer) -> None:
    added = client.http.post("/api/connections", json={"url": mill.url, "name": "mill"})
    assert added.status_code == 201, added.text
    assert added.json()["status"] == "ok", added.json()["last_error"]


def answers(stack: Stack, session: str) -> int:
    [(count,)] = stack.sql(
        "SELECT count(*) FROM chat_turn WHERE kind = 'continuation' AND session_id = ?",
        uuid.UUID(session).hex,
    )
    return int(count)


def test_a_call_waits_for_a_person_over_the_death_of_every_worker_and_runs_once(
    new_stack: Callable[..., Stack], mill: SdkServer
) -> None:
    stack = new_stack(workers=0, env={"BOUNDARY_ALLOWED_HOSTS": mill.host})
    stack.start_worker(0, crash_at="call_held")
    client = stack.client()
    add_mill(client, mill)
    session = client.new_session()
    steps = [call("mcp__mill__send", "out", to="bob"), {"text": "It waits for you."}]
    turn = client.send(session, {"id": f"held-{session}", "steps": steps})
    eventually(lambda: stack.processes["worker0"].poll() is not None, what="the crash")
    stack.start_worker(1)
    assert client.wait(turn["id"])["end_reason"] == "done"
    [asked] = waiting(client)
    assert (asked["tool_name"], asked["data"]) == ("mcp__mill__send", {"to": "bob"})
    stack.kill("worker1")
    assert mill.seen().get("send", 0) == 0
    decided = client.http.post(f"/api/reviews/{asked['id']}/decide", json={"approved": True})
    assert decided.status_code == 200, decided.text
    again = client.http.post(f"/api/reviews/{asked['id']}/decide", json={"approved": True})
    assert again.status_code == 409
    stack.start_worker(2)
    eventually(lambda: answers(stack, session) == 1 and not client.session(session)["active_turn"])
    assert mill.seen()["send"] == 1
    assert "sent to bob" in str(client.session(session)["messages"])


def test_a_task_is_one_operation_one_result_and_one_continuation_though_workers_and_server_die(
    new_stack: Callable[..., Stack], tmp_path: Path, mill: SdkServer
) -> None:
    stack = new_stack(workers=1, env={"BOUNDARY_ALLOWED_HOSTS": mill.host})
    client = stack.client()
    add_mill(client, mill)
    rule = client.http.put("/api/tools/mcp__mill__long_mill/rule", json={"rule": "allow"})
    assert rule.status_code == 200, rule.text
    mill.tell(work=3600)
    session = client.new_session()
    steps = [call("mcp__mill__long_mill", "grind", grain="rye"), {"text": "It is on its way."}]
    turn = client.send(session, {"id": f"task-{session}", "steps": steps})
    assert client.wait(turn["id"])["end_reason"] == "done"
    eventually(lambda: mill.seen().get("tasks/get", 0) >= 2, what="the task to be looked at")
    stack.kill("worker0")
    for number in range(1, 4):
        looks = mill.seen()["tasks/get"]
        stack.start_worker(number)
        eventually(lambda looks=looks: mill.seen()["tasks/get"] > looks, what="the next look")  # type: ignore[misc]
        stack.kill(f"worker{number}")
    mill.tell(finish=True)
    stack.start_worker(9)
    eventually(lambda: answers(stack, session) == 1 and not client.session(session)["active_turn"])
    assert mill.seen()["long_mill"] == 1
    [(operations,)] = stack.sql("SELECT count(*) FROM tools_operation")
    assert operations == 1
    assert "milled" in str(client.session(session)["messages"])
