"""Time from a message to the first word of its answer, compared with asking the model server directly."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
from websockets.sync.client import connect

from benchmarks.conversations import script
from benchmarks.side_by_side import Report, Series, Size, alternate, at_most
from durable.ids import new_id
from tests.harness import PEOPLE, Stack

TITLE = "request -> commit -> poke -> worker -> model -> client, one turn at a time on an idle system"
ANSWER = {"chunks": 3, "delay": 0.1}  # the first word must not wait for the end
MESSAGE = script(ANSWER)


def run(stack: Stack, size: Size, report: Report) -> None:
    stack.start_model()
    stack.start_web(0)
    stack.start_worker(0)
    stack.wait_ready(1)
    turns = size.pick(5, 40, 150)
    ways = {"direct": direct(stack), "SSE": by_sse(stack), "websocket": by_socket(stack)}
    for way in ways.values():
        for _ in range(size.pick(1, 5, 10)):
            way()  # connections, caches, the worker's first import of the model library
    found = alternate(ways, turns)
    for name in ("SSE", "websocket"):
        added(report, f"first word by {name}", found[name], found["direct"])
    report.remark(f"{turns} turns each, alternating; the model answers at once, so all of it is overhead")


def added(report: Report, what: str, ours: Series, direct: Series) -> None:
    report.add(f"{what}", "ms", ours, direct)
    for share, name, limit in ((0.5, "p50", 10.0), (0.99, "p99", 25.0)):
        value = ours.quantile(share) - direct.quantile(share)
        report.add(f"{what}: added at {name}", "ms", value, goal=at_most(limit))


def direct(stack: Stack) -> Callable[[], float]:
    client = httpx.Client(base_url=f"http://127.0.0.1:{stack.model_port}", timeout=20)
    body = {"model": "offline", "stream": True, "messages": [{"role": "user", "content": MESSAGE}]}

    def ask() -> float:
        started, spent = time.perf_counter(), 0.0
        with client.stream("POST", "/v1/chat/completions", json=body) as response:
            for line in response.iter_lines():
                if not spent and line.startswith("data: {") and first_content(line):
                    spent = time.perf_counter() - started
        return spent * 1000

    return ask


def first_content(line: str) -> bool:
    choices = json.loads(line.removeprefix("data: "))["choices"]
    return bool(choices and choices[0]["delta"].get("content"))


def by_sse(stack: Stack) -> Callable[[], float]:
    """One request that sends the message and streams its answer."""
    client = stack.client(PEOPLE[0])

    def ask() -> float:
        session = client.new_session(title="bench")
        started, spent = time.perf_counter(), 0.0
        with client.http.stream(
            "POST", f"/api/sessions/{session}/stream", json={"message": MESSAGE}
        ) as response:
            for line in response.iter_lines():
                if not spent and '"text-delta"' in line:
                    spent = time.perf_counter() - started
        return spent * 1000

    return ask


def by_socket(stack: Stack) -> Callable[[], float]:
    client = stack.client(PEOPLE[1])
    address = stack.url().replace("http", "ws", 1) + "/ws/chat/"
    socket = connect(address, additional_headers={"Authorization": f"Bearer {client.key}"})

    def ask() -> float:
        session, name = client.new_session(title="bench"), str(new_id())
        message: dict[str, Any] = {"id": name, "role": "user", "parts": [{"type": "text", "text": MESSAGE}]}
        frame = {
            "type": "send",
            "requestId": name,
            "id": session,
            "trigger": "submit-message",
            "messages": [message],
        }
        started, spent = time.perf_counter(), 0.0
        socket.send(json.dumps(frame))
        while True:
            heard = str(socket.recv(timeout=20))
            if not spent and '"text-delta"' in heard:
                spent = time.perf_counter() - started
            if heard.startswith(('{"type":"end"', '{"type":"error"')):
                assert spent, heard
                return spent * 1000

    return ask
