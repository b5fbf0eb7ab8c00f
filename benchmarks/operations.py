"""Time from a message that starts an operation to the end of the turn that continues it, compared with asking twice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from websockets.sync.client import ClientConnection, connect

from benchmarks.conversations import script
from benchmarks.side_by_side import Report, Size, alternate
from tests.harness import Client, Stack

TITLE = "an operation that has nothing to do: start, worker, result, continuation; one at a time on an idle system"
LONG = script(
    {"tool_calls": [{"name": "test_operation", "arguments": {}}]},
    {"text": "It goes on."},
    {"text": "It is back."},
)
SHORT = script({"tool_calls": [{"name": "test_pure", "arguments": {}}]}, {"text": "Here it is."})
AGAIN = script({"text": "It is back."})


def run(stack: Stack, size: Size, report: Report) -> None:
    stack.start_model()
    stack.start_web(0)
    stack.start_worker(0)
    stack.wait_ready(1)
    client = stack.client()
    address = stack.url().replace("http", "ws", 1) + "/ws/events/"
    with connect(address, additional_headers={"Authorization": f"Bearer {client.key}"}) as socket:
        ways = {"by hand": by_hand(client, socket), "by itself": by_itself(client, socket)}
        for way in ways.values():
            way()  # connections, caches, first imports
        found = alternate(ways, size.pick(2, 20, 60))
    report.add("start to the end of the continuation", "ms", found["by itself"], found["by hand"])
    report.remark("by hand: a turn with a short tool call, and a second turn sent when the first has ended")


def by_itself(client: Client, socket: ClientConnection) -> Callable[[], float]:
    def measure() -> float:
        session = client.new_session(title="bench")
        started = time.perf_counter()
        client.send(session, LONG)
        wait_finished(socket, session, 2)
        return (time.perf_counter() - started) * 1000

    return measure


def by_hand(client: Client, socket: ClientConnection) -> Callable[[], float]:
    def measure() -> float:
        session = client.new_session(title="bench")
        started = time.perf_counter()
        for message in (SHORT, AGAIN):
            client.send(session, message)
            wait_finished(socket, session, 1)
        return (time.perf_counter() - started) * 1000

    return measure


def wait_finished(socket: ClientConnection, session: str, count: int) -> None:
    while count:
        frame = json.loads(socket.recv(timeout=30))
        count -= frame["type"] == "turn.finished" and frame["session_id"] == session
