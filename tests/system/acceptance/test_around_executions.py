"""Reviews, schedules and triggers from outside: whatever is killed, each takes effect once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.harness import SETTLE_SECONDS, Client, Stack, eventually, running_stack
from tests.system.acceptance.test_operations import Device

pytestmark = pytest.mark.chaos
INPUT, OUTPUT = "c0a8e994-ebf1-4a9c-a4d8-89d09c86741b", "363ae599-353e-4804-937e-b2ee3cef3da4"
ASK, HOOK = "8b2a7b3c-6e9d-4a5f-8c1b-2e3f4a5b6c7d", "8fa8c167-2002-47ce-aba8-97572fc5d387"
LONG_AGO = "2020-01-01 00:00:00"


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    with running_stack(short_tmp / "around", workers=1, webs=1) as running:
        yield running


# --- agents -------------------------------------------------------------------------------------


def node(node_id: str, block_id: str, **values: Any) -> dict[str, Any]:
    return {"id": node_id, "block_id": block_id, "input_default": values, "metadata": {}}


def link(source: str, pin: str, sink: str, sink_pin: str) -> dict[str, Any]:
    ends = {"source_id": source, "source_name": pin, "sink_id": sink, "sink_name": sink_pin}
    return {"id": f"{source}-{pin}-{sink}", "is_static": False} | ends


def import_agent(client: Client, nodes: list[dict[str, Any]], links: list[dict[str, Any]]) -> str:
    body = {"name": "From outside", "description": "", "nodes": nodes, "links": links}
    made = client.http.post("/api/agents", json=body)
    assert made.status_code == 201 and made.json()["validation"]["valid"], made.text
    return str(made.json()["id"])


def greeter(client: Client) -> str:
    nodes = [node("in", INPUT, name="name", value="world"), node("out", OUTPUT, name="greeting")]
    return import_agent(client, nodes, [link("in", "result", "out", "value")])


def ended(client: Client, execution_id: str) -> dict[str, Any]:
    url = f"/api/executions/{execution_id}?wait=60"
    shown: dict[str, Any] = client.http.get(url, timeout=90).json()
    assert shown["status"] == "COMPLETED", shown
    return shown


# --- tests --------------------------------------------------------------------------------------


def test_a_review_outlives_every_process_and_resumes_the_same_execution(stack: Stack) -> None:
    client = stack.client()
    nodes = [
        node("in", INPUT, name="draft"),
        node("ask", ASK, name="The letter"),
        node("out", OUTPUT, name="letter"),
    ]
    links = [link("in", "result", "ask", "data"), link("ask", "approved_data", "out", "value")]
    agent = import_agent(client, nodes, links)
    device = Device(stack, client, 0)
    try:
        assert device.open.wait(SETTLE_SECONDS)
        body = {"inputs": {"draft": {"text": "Dear all"}}}
        execution = client.http.post(f"/api/agents/{agent}/execute", json=body).json()["id"]
        [review] = eventually(lambda: waiting(client), what="the question")
        eventually(lambda: device.heard("review.requested", review_id=review["id"]), what="the ring")
    finally:
        device.close()
    assert (review["execution_id"], review["data"]) == (execution, {"text": "Dear all"})
    eventually(lambda: client.http.get(f"/api/executions/{execution}").json()["status"] == "REVIEW")
    for name in ("web0", "worker0", "model", "redis"):
        stack.kill(name)
    stack.start_redis()
    stack.start_model()
    stack.start_web()
    stack.start_worker()
    stack.wait_ready(1)
    url = f"/api/reviews/{review['id']}/decide"
    said = {"approved": True, "data": {"text": "Dear Ada"}, "message": "Be precise."}
    assert client.http.post(url, json=said).status_code == 200
    assert client.http.post(url, json=said).status_code == 409
    assert ended(client, execution)["outputs"] == {"letter": [{"text": "Dear Ada"}]}
    assert client.http.post(url, json={"approved": False}).status_code == 409


def waiting(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.http.get("/api/reviews?state=waiting").json()["results"]
    return found


def test_two_beats_that_both_tick_start_a_schedule_once(stack: Stack) -> None:
    client = stack.client()
    body = {"name": "Yearly", "agent_id": greeter(client), "cron": "0 * 1 1 *", "inputs": {"name": "Ada"}}
    schedule = client.http.post("/api/schedules", json=body).json()
    stack.kill("worker0")
    due = "UPDATE executions_schedule SET next_run_at = ? WHERE id = ?"
    stack.sql(due, LONG_AGO, schedule["id"].replace("-", ""))
    row = f"schedule {schedule['id']}"
    with stack.own_beat_stopped(), own_beats(stack):
        for name in ("beat0", "beat1"):
            missed = "UPDATE django_celery_beat_periodictask SET last_run_at = ? WHERE name = ?"
            stack.sql(missed, LONG_AGO, row)  # neither knows of the other's tick
            stack.start_beat(name)
            eventually(lambda: last_tick(stack, row) != LONG_AGO, what=f"a tick of {name}")
            assert f"Sending due task {row}" in stack.log(name, 1_000)
        stack.start_worker()
        stack.wait_ready(1)
        shown = eventually(lambda: started(client, schedule["id"]), what="the run") or {}
        assert ended(client, shown["last_execution_id"])["outputs"] == {"greeting": ["Ada"]}
        now = client.http.post(f"/api/schedules/{schedule['id']}/run").json()
        ended(client, now["execution_id"])
    agent_runs = client.http.get(f"/api/executions?agent={body['agent_id']}").json()["results"]
    assert len(agent_runs) == 2, "one for the time it was due, one that was asked for"
    assert shown["last_error"] is None and shown["next_run_at"] > shown["last_due_at"]


@contextmanager
def own_beats(stack: Stack) -> Iterator[None]:
    try:
        yield
    finally:
        for name in {"beat0", "beat1"} & stack.processes.keys():
            stack.kill(name)
            del stack.processes[name]


def last_tick(stack: Stack, name: str) -> str:
    for beat in {"beat0", "beat1"} & stack.processes.keys():
        assert stack.processes[beat].poll() is None, stack.log(beat)
    [(last,)] = stack.sql("SELECT last_run_at FROM django_celery_beat_periodictask WHERE name = ?", name)
    return str(last)


def started(client: Client, schedule: str) -> dict[str, Any] | None:
    shown: dict[str, Any] = client.http.get(f"/api/schedules/{schedule}").json()
    return shown if shown["last_execution_id"] else None


def test_a_call_stored_by_a_process_that_died_is_started_all_the_same(stack: Stack) -> None:
    client = stack.client()
    nodes = [node("hook", HOOK), node("out", OUTPUT, name="got")]
    agent = import_agent(client, nodes, [link("hook", "payload", "out", "value")])
    trigger = client.http.post("/api/triggers", json={"name": "Orders", "agent_id": agent}).json()
    path = "/api/hooks/" + trigger["url"].rpartition("/")[2]
    stack.kill("web0")
    stack.start_web(crash_at="hook_stored")
    stack.wait_ready(0)

    def send() -> httpx.Response:
        headers = {"webhook-id": "call-1"}
        return httpx.post(f"{stack.url()}{path}", json={"order": 7}, headers=headers, timeout=60)

    with pytest.raises(httpx.HTTPError):
        send()
    stack.start_web()
    eventually(lambda: answers(stack), what="the web process")
    url = f"/api/triggers/{trigger['id']}/deliveries"
    [delivery] = eventually(
        lambda: [one for one in client.http.get(url).json()["results"] if one["state"] == "started"],
        what="the start of the stored call",
    )
    again = send()  # as senders do who got no answer
    assert (again.status_code, again.json()["execution_id"]) == (200, delivery["execution_id"])
    assert ended(client, delivery["execution_id"])["outputs"] == {"got": [{"order": 7}]}
    assert len(client.http.get(f"/api/executions?agent={agent}").json()["results"]) == 1


def answers(stack: Stack) -> bool:
    try:
        return httpx.get(f"{stack.url()}/healthz", timeout=60).status_code == 200
    except httpx.HTTPError:
        return False
