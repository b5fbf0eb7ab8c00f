"""A secret put wherever people put secrets shows up nowhere an operator's tools look."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.executions.engine.graphs import agent_json
from tests.harness import Client, Stack, eventually, free_port
from tests.system.observability.watched import Collected, watched_stack

CANARY = "canary-5d1e7b-c0ffee"
FLOWER_PAGES = (
    "/",
    "/workers",
    "/tasks",
    "/broker",
    "/api/workers",
    "/api/tasks",
    "/api/task/types",
    "/metrics",
)
AUTH = ("ann", "a good password")


@pytest.fixture(scope="module")
def watched(short_tmp: Path) -> Iterator[tuple[Stack, Collected, str]]:
    env = {"LOG_FORMAT": "json", "LOG_LEVEL": "DEBUG"}
    with watched_stack(short_tmp / "c", env=env) as (stack, collected):
        port = free_port()
        flower = {
            "FLOWER_BASIC_AUTH": ":".join(AUTH),
            "FLOWER_PORT": str(port),
            "FLOWER_ADDRESS": "127.0.0.1",
        }
        stack.launch("flower", "-m", "celery", "-A", "copilot_project.launcher.monitor", "flower", env=flower)
        address = f"http://127.0.0.1:{port}"
        eventually(lambda: answers(f"{address}/api/workers"), what="Flower")
        eventually(partial(hears_of_a_turn, stack, address), what="Flower's ear for tasks")
        put_everywhere(stack)
        yield stack, collected, address


def answers(url: str) -> bool:
    try:
        return httpx.get(url, auth=AUTH, timeout=60).status_code == 200
    except httpx.HTTPError:
        return False


def hears_of_a_turn(stack: Stack, flower: str) -> bool:
    """It answers some time before it listens, and what was done before that it never hears of."""
    say(stack.client(), "Hello")
    return "chat.run_turn" in task_names(httpx.get(f"{flower}/api/tasks", auth=AUTH, timeout=60).json())


def task_names(tasks: dict[str, dict[str, Any]]) -> set[str]:
    return {task["name"] for task in tasks.values()}


def put_everywhere(stack: Stack) -> None:
    """In a credential, a message, arguments good and bad, a tool's name, an agent, and what the model complains of."""
    client = stack.client()
    secret = {"provider": "smtp", "kind": "api_key", "title": CANARY, "api_key": CANARY}
    assert client.http.post("/api/credentials", json=secret).status_code == 201
    say(client, f"Remember my password: {CANARY}")
    calls: list[dict[str, Any]] = [
        {"name": "test_effect", "arguments": {"note": CANARY}},
        {"name": "test_sleep", "arguments": {"seconds": CANARY}},
        {"name": "test_operation", "arguments": {"note": CANARY}},
        {"name": "web_fetch", "arguments": {"url": f"http://127.0.0.1:9/{CANARY}"}},
        {"name": CANARY, "arguments": {}},
        {"name": "test_quoting_crash", "arguments": {"note": CANARY}},
    ]
    refused = {"status": 400, "error": {"message": f"I do not like {CANARY}, nor '{CANARY}'"}}
    away = {"status": 500, "error": {"message": f"It fell over {CANARY}"}}
    say(client, {"steps": [{"text": CANARY, "tool_calls": calls}, {"text": CANARY}]})
    say(client, {"id": "refused", "steps": [{"fault": refused}]}, end="model_error")
    say(client, {"id": "away", "steps": [{"fault": away, "text": "At last."}]})
    nodes = {
        "in": ("Agent Short Text Input", {"name": "word"}),
        "sum": ("Calculator", {"operation": "Add", "b": 1}),
    }
    agent = client._ok(client.http.post("/api/agents", json=agent_json(nodes, ["in.result -> sum.a"])))
    started = client.http.post(f"/api/agents/{agent['id']}/execute", json={"inputs": {"word": CANARY}})
    execution = client._ok(started)["id"]
    eventually(
        lambda: (
            client._ok(client.http.get(f"/api/executions/{execution}"))["status"] in ("COMPLETED", "FAILED")
        ),
        what="the execution",
    )
    client.http.get(f"/api/sessions?q={CANARY}")
    client.http.post("/api/sessions", content=f"{{{CANARY}", headers={"Content-Type": "application/json"})


def say(client: Client, message: Any, *, end: str = "done") -> None:
    turn = client.send(client.new_session(), message)
    assert client.wait(turn["id"])["end_reason"] == end


def test_no_log_line_has_it(watched: tuple[Stack, Collected, str]) -> None:
    stack = watched[0]
    logs = [path for path in stack.home.glob("*.log") if path.stem not in ("model", "collector")]
    assert {path.stem for path in logs} >= {"web0", "worker0", "flower"}
    worker = (stack.home / "worker0.log").read_text()
    assert "HTTP 400: I do not like …" in worker and "HTTP 500: It fell over …" in worker
    assert "A tool failed" in worker and '"DEBUG"' in worker
    found = [
        f"{path.name}: {line[:2000]}"
        for path in logs
        for line in path.read_text(errors="replace").splitlines()
        if CANARY in line
    ]
    assert found == []


def test_flower_shows_ids_only(watched: tuple[Stack, Collected, str]) -> None:
    with httpx.Client(base_url=watched[2], auth=AUTH, timeout=60) as flower:
        wanted = {"chat.run_turn", "executions.run_execution"}
        eventually(lambda: task_names(flower.get("/api/tasks").json()) >= wanted, what="tasks in Flower")
        tasks = flower.get("/api/tasks").json()
        pages = [
            *FLOWER_PAGES,
            *(f"/task/{task}" for task in tasks),
            *(f"/api/task/info/{task}" for task in tasks),
        ]
        answers = {page: flower.get(page) for page in pages}
    assert [page for page, answer in answers.items() if answer.status_code != 200] == []
    assert [page for page, answer in answers.items() if CANARY in answer.text] == []


def test_no_metric_has_it(watched: tuple[Stack, Collected, str]) -> None:
    page = httpx.get(f"{watched[0].url()}/metrics", timeout=60).text
    assert 'ratchet_tool_calls_total{state="failed",tool="unknown"} 1.0' in page
    assert CANARY not in page


def test_no_trace_has_it(watched: tuple[Stack, Collected, str]) -> None:
    collected = watched[1]

    def names() -> set[str]:
        return {span["name"] for span in collected.spans()}

    expected = {"turn", "step", "chat offline", "execute_tool test_effect", "operation", "execution", "node"}
    eventually(lambda: names() >= expected, what="all kinds of spans")
    assert CANARY not in collected.raw


def test_no_error_report_has_it(watched: tuple[Stack, Collected, str]) -> None:
    collected = watched[1]
    eventually(lambda: "A tool failed" in collected.errors, what="an error report")
    assert "ValueError" in collected.errors
    assert CANARY not in collected.errors
