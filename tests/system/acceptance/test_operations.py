"""Long work started in chat: whatever dies, it ends once, comes back by itself, and everybody hears of it."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from redis.exceptions import ResponseError
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.harness import SETTLE_SECONDS, Client, Stack, eventually, running_stack

pytestmark = pytest.mark.chaos
KEY = "the key of the house"
STREAM, GROUP = "chat:completions", "chat_consumers"


class Device:
    """An open `/ws/events/` that is opened again whenever it breaks, as a browser does."""

    def __init__(self, stack: Stack, client: Client, web: int) -> None:
        self.frames: list[dict[str, Any]] = []
        self._url = stack.url(web).replace("http", "ws") + "/ws/events/"
        self._headers = {"Authorization": f"Bearer {client.key}"}
        self._over = threading.Event()
        self.open = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while not self._over.is_set():
            try:
                with connect(self._url, additional_headers=self._headers) as socket:
                    self.open.set()
                    while not self._over.is_set():
                        self._hear(socket)
            except (OSError, WebSocketException):
                self.open.clear()
                self._over.wait(0.2)

    def _hear(self, socket: Any) -> None:
        try:
            self.frames.append(json.loads(socket.recv(timeout=0.5)))
        except TimeoutError:
            return

    def heard(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        return [f for f in self.frames if f["type"] == kind and wanted.items() <= f.items()]

    def close(self) -> None:
        self._over.set()
        self._thread.join(60)


@contextmanager
def devices(stack: Stack, client: Client) -> Iterator[list[Device]]:
    found = [Device(stack, client, web) for web in (0, 1)]
    try:
        for device in found:
            assert device.open.wait(SETTLE_SECONDS)
        yield found
    finally:
        for device in found:
            device.close()


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    with running_stack(short_tmp / "operations", workers=1, webs=2, env={"INTERNAL_API_KEY": KEY}) as running:
        running.start_consumer()
        yield running


NO_GROUP_YET = -1


def start_work(
    client: Client, session: str, after: str = "It came back.", tool: str = "test_operation", **arguments: Any
) -> str:
    """The operation that a scripted turn starts; `after` is what the model says when it comes back."""
    call = {"name": tool, "arguments": arguments, "id": "call_long"}
    steps = [{"tool_calls": [call]}, {"text": "It goes on by itself."}, {"text": after}]
    turn = client.send(session, {"id": f"work-{session}", "steps": steps})
    assert client.wait(turn["id"])["end_reason"] == "done"
    shown = tool_part(client, session, tool)["output"]
    assert shown["type"] == "operation_pending", shown
    return str(shown["operation_id"])


def tool_part(client: Client, session: str, tool: str = "test_operation") -> dict[str, Any]:
    parts = [part for message in client.session(session)["messages"] for part in message["parts"]]
    return next(part for part in parts if part["type"] == f"tool-{tool}")


def operation(client: Client, operation_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.http.get(f"/api/operations/{operation_id}").json()
    return found


def wait_status(client: Client, operation_id: str, *wanted: str) -> dict[str, Any]:
    eventually(
        lambda: operation(client, operation_id)["status"] in wanted, what=f"{operation_id} to be {wanted}"
    )
    return operation(client, operation_id)


def wait_idle(client: Client, session: str, answers: int) -> list[str]:
    """The assistant's messages, once there are so many and nothing is under way."""

    def settled() -> bool:
        shown = client.session(session)
        said = [message for message in shown["messages"] if message["role"] == "assistant"]
        return len(said) >= answers and shown["active_turn"] is None

    eventually(settled, what=f"{answers} answers")
    return [m["content"] for m in client.session(session)["messages"] if m["role"] == "assistant"]


def entries(stack: Stack) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(stack.socket), decode_responses=True)


def announce(stack: Stack, operation_id: str, **fields: str) -> None:
    said: dict[Any, Any] = {"operation_id": operation_id, "success": "true", **fields}
    entries(stack).xadd(STREAM, said)


def pending(stack: Stack) -> int:
    try:
        return int(entries(stack).xpending(STREAM, GROUP)["pending"])
    except ResponseError:  # the consumer, still starting, has not made its group yet
        return NO_GROUP_YET


def parked(stack: Stack) -> list[tuple[Any, ...]]:
    return stack.sql("SELECT state, tries FROM durable_parkedentry")


def test_operation_survives_a_killed_worker_a_redis_restart_and_a_closed_tab(
    new_stack: Callable[..., Stack],
) -> None:
    stack = new_stack(workers=1, webs=2)
    client = stack.client()
    session = client.new_session()
    with devices(stack, client) as (one, two):
        hold = stack.home / "hold"
        operation_id = start_work(client, session, hold=str(hold), note="survivor")
        wait_status(client, operation_id, "running")
        eventually(lambda: one.heard("operation.updated", id=operation_id, status="running"))
        stack.kill("worker0")
        stack.start_worker(1)
        eventually(lambda: operation(client, operation_id)["attempt"] == 2, what="the takeover")
        stack.kill("redis", signal.SIGKILL)
        stack.processes["redis"].wait(60)
        stack.socket.unlink(missing_ok=True)
        stack.start_redis()
        for device in (one, two):
            eventually(partial(still_hears, client, device), what="a device to hear again")
        hold.touch()
        ended = wait_status(client, operation_id, "completed")
        assert (ended["result"]["value"], ended["progress"]) == ("survivor", 1.0)
        assert wait_idle(client, session, 2) == ["It goes on by itself.", "It came back."]
        for device in (one, two):
            eventually(partial(device.heard, "operation.updated", id=operation_id, status="completed"))
            eventually(partial(device.heard, "turn.finished", turn_id=continuation_of(client, session)))
    assert tool_part(client, session)["output"]["value"] == "survivor"
    assert [line.split("\t")[1] for line in stack.effects()] == ["survivor"]
    last = [request for request in stack.model_requests() if operation_id in json.dumps(request)][-1]
    assert "survivor" in json.dumps(last), "the model was not given the result"


def continuation_of(client: Client, session: str) -> str:
    return str(client.answer(session)["metadata"]["turn_id"])


def still_hears(client: Client, device: Device) -> bool:
    """Make something happen and see whether the device hears of it."""
    before = len(device.frames)
    client.new_session(title="knock")
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        if len(device.frames) > before:
            return True
        time.sleep(0.02)
    return False


def test_five_completions_over_both_channels_give_one_continuation(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    operation_id = start_work(client, session, accepted=True)
    wait_status(client, operation_id, "waiting")

    def by_webhook(number: int) -> int:
        url = f"{stack.url(number % 2)}/api/operations/{operation_id}/complete"
        body = {"success": True, "result": {"number": number}}
        return httpx.post(url, json=body, headers={"X-API-Key": KEY}, timeout=60).status_code

    def by_stream(number: int) -> int:
        announce(stack, operation_id, result=json.dumps({"number": number}))
        return 200

    ways = [by_webhook, by_stream, by_webhook, by_stream, by_webhook]
    with ThreadPoolExecutor(5) as pool:
        assert list(pool.map(lambda item: item[1](item[0]), enumerate(ways))) == [200] * 5
    first = wait_status(client, operation_id, "completed")["result"]
    assert wait_idle(client, session, 2) == ["It goes on by itself.", "It came back."]
    eventually(lambda: pending(stack) == 0, what="all entries acknowledged")
    assert by_webhook(9) == 200
    assert operation(client, operation_id)["result"] == first
    assert len(wait_idle(client, session, 2)) == 2


@pytest.mark.parametrize("point", ["consumer_read", "consumer_handled"])
def test_a_consumer_killed_before_it_acknowledged_loses_nothing(
    short_tmp: Path, stack: Stack, point: str
) -> None:
    stack.kill("consumer")
    client = stack.client()
    session = client.new_session()
    try:
        operation_id = start_work(client, session, accepted=True)
        wait_status(client, operation_id, "waiting")
        stack.start_consumer("doomed", crash_at=point)
        announce(stack, operation_id, result='"from the stream"')
        eventually(lambda: stack.processes["doomed"].poll() is not None, what="the crash")
        assert pending(stack) == 1
    finally:
        stack.start_consumer()
    assert wait_status(client, operation_id, "completed")["result"] == "from the stream"
    assert wait_idle(client, session, 2)[-1] == "It came back."
    eventually(lambda: pending(stack) == 0, what="the acknowledgement")
    assert len(wait_idle(client, session, 2)) == 2


def test_a_worker_killed_while_it_makes_something_of_an_answer_is_made_up_for(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    operation_id = start_work(client, session, tool="test_handed_over", note="jam")
    wait_status(client, operation_id, "waiting")
    stack.kill("worker0")
    try:
        stack.start_worker(7, crash_at="operation_worked")
        announce(stack, operation_id, result='{"made": "once"}')
        eventually(lambda: stack.processes["worker7"].poll() is not None, what="the crash")
        assert operation(client, operation_id)["status"] == "running"
    finally:
        stack.start_worker(0)
    assert wait_status(client, operation_id, "completed")["result"]["value"] == "jam: once"
    assert wait_idle(client, session, 2) == ["It goes on by itself.", "It came back."]
    assert stack.sql("SELECT note FROM testtools_testeffect WHERE note LIKE 'jam%'") == [("jam: once",)]


def test_a_poison_entry_is_parked_and_those_behind_it_go_on(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    operation_id = start_work(client, session, accepted=True)
    wait_status(client, operation_id, "waiting")
    entries(stack).xadd(STREAM, {"data": "this is not JSON"})
    announce(stack, operation_id, result='"behind it"')
    assert wait_status(client, operation_id, "completed")["result"] == "behind it"
    eventually(lambda: ("parked", 5) in parked(stack), what="the parked entry")
    eventually(lambda: pending(stack) == 0, what="the poison out of the way")


def test_a_continuation_waits_behind_the_running_turn(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    operation_id = start_work(client, session, accepted=True)
    wait_status(client, operation_id, "waiting")
    gate = f"behind-{session}"
    steps = [{"text": "About something else.", "gate": gate}, {"text": "And now your work."}]
    other = client.send(session, {"id": gate, "steps": steps})
    eventually(lambda: client.turn(other["id"])["status"] == "running")
    announce(stack, operation_id)
    assert wait_status(client, operation_id, "completed")["result"] == {"status": "completed"}
    shown = client.session(session)
    assert shown["active_turn"]["id"] == other["id"]
    stack.release(gate)
    answers = wait_idle(client, session, 3)
    assert answers == ["It goes on by itself.", "About something else.", "And now your work."]


def test_a_running_operation_is_cancelled_from_another_web_process(stack: Stack) -> None:
    client, other = stack.client(web=0), stack.client(web=1)
    session = client.new_session()
    operation_id = start_work(client, session, seconds=300)
    wait_status(client, operation_id, "running")
    url = f"/api/operations/{operation_id}/cancel"
    assert other.http.post(url).json() == {"cancelled": True}
    assert operation(client, operation_id)["status"] == "cancelled"
    assert other.http.post(url).json() == {"cancelled": True, "reason": "already_cancelled"}
    assert stack.client("bob").http.post(url).status_code == 404
    assert tool_part(client, session)["state"] == "output-error"
    assert len(wait_idle(client, session, 1)) == 1
