"""Faults: whatever dies, every message reaches one visible end, and every reader ends with the database's text."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from tests.harness import Client, Reader, Stack, eventually, running_stack

NewStack = Callable[..., Stack]
pytestmark = pytest.mark.chaos

TALK = {"chunks": 40, "delay": 0.02}


def calls(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "arguments": {}, "id": f"call_{name}"} for name in names]


CRASH_POINTS = [
    "after_claim",
    "before_model",
    "mid_model",
    "after_model",
    "after_step_commit",
    "after_intent",
    "after_effect",
    "after_result",
    "before_next_step",
    "before_final_commit",
    "after_final_commit",
    "after_finish",
]


class Watching:
    """A reader on a thread of its own, from the first event on."""

    def __init__(self, client: Client, turn_id: str) -> None:
        self.reader = Reader(client, turn_id)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self.failure: Exception | None = None
        self._thread.start()

    def _read(self) -> None:
        try:
            self.reader.read_to_end(seconds=150)
        except (AssertionError, httpx.HTTPError) as error:  # shown by `result`, on the test's own thread
            self.failure = error

    def result(self) -> Reader:
        self._thread.join()  # it gives up by itself
        if self.failure is not None:
            raise self.failure
        assert self.reader.finished
        return self.reader


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    """Without a worker: each test brings those it kills, and leaves none."""
    with running_stack(short_tmp / "faults", workers=0) as running:
        yield running


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_kill_at_a_named_point_repeats_nothing_and_loses_nothing(stack: Stack, point: str) -> None:
    client = stack.client()
    session = client.new_session()
    steps = [
        {"text": f"First words at {point}.", "tool_calls": calls("test_effect")},
        {"text": "Last words.", **TALK},
    ]
    before = len(stack.effects())
    with stack.worker(1, crash_at=point):
        turn = client.send(session, {"id": f"point-{point}", "steps": steps})
        watching = Watching(client, turn["id"])
        eventually(lambda: stack.processes["worker1"].poll() is not None, what=f"the crash {point}")
    with stack.worker(2):
        ended = client.wait(turn["id"])
        reader = watching.result()
    assert ended["end_reason"] == "done", (ended, stack.log("worker2"))
    assert reader.kinds.count("finish") == 1
    answer = client.answer(session)
    assert reader.text == answer["content"]
    assert "".join(part["text"] for part in answer["parts"] if part["type"] == "text") == answer["content"]
    effects = [part for part in answer["parts"] if part["type"] == "tool-test_effect"]
    assert [part["state"] for part in effects] == ["output-available"]
    assert len(stack.effects()) - before <= 1
    late = Reader(client, turn["id"]).read_to_end()
    assert late.text == answer["content"]


def test_in_doubt_effect_that_cannot_be_looked_up_is_reported_and_not_repeated(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    before = len(stack.effects())
    (stack.home / "crashed-after_effect").unlink(missing_ok=True)
    with stack.worker(1, crash_at="after_effect"):
        turn = client.send(
            session, {"id": "doubt", "steps": [{"tool_calls": calls("test_foreign_effect")}, {"text": "ok"}]}
        )
        eventually(lambda: stack.processes["worker1"].poll() is not None, what="the crash")
    with stack.worker(2):
        assert client.wait(turn["id"])["end_reason"] == "done"
    assert len(stack.effects()) - before == 1
    part = next(
        part for part in client.answer(session)["parts"] if part["type"] == "tool-test_foreign_effect"
    )
    assert "may" in str(part).lower() and "happened" in str(part)


def test_frozen_worker_that_comes_back_changes_nothing(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    with stack.worker(0):
        talk = {"chunks": 20, "delay": 0.01, "gate": "zombie", "gate_at": 10}
        turn = client.send(session, {"id": "zombie", "steps": [talk]})
        watching = Watching(client, turn["id"])
        eventually(lambda: "text-delta" in watching.reader.kinds)
        stack.kill("worker0", signal.SIGSTOP)
        with stack.worker(1):
            eventually(lambda: client.turn(turn["id"])["attempt"] == 2, what="the takeover")
            stack.kill("worker0", signal.SIGCONT)
            stack.release("zombie")  # both of them hear the rest
            assert client.wait(turn["id"])["end_reason"] == "done"
            reader = watching.result()
    assert reader.text == client.answer(session)["content"]
    assert reader.resets == 1
    assert client.turn(turn["id"])["attempt"] == 2


def test_sigterm_hands_the_turn_over_at_the_next_step(new_stack: NewStack) -> None:
    stack = new_stack(workers=1, lease_seconds=30.0)
    client = stack.client()
    session = client.new_session()
    first = {"chunks": 20, "delay": 0.01, "gate": "deploy", "gate_at": 10, "tool_calls": calls("test_pure")}
    steps = [first, {"text": "second step"}]
    turn = client.send(session, {"id": "deploy", "steps": steps})
    watching = Watching(client, turn["id"])
    eventually(lambda: "text-delta" in watching.reader.kinds)
    stack.start_worker(1)
    eventually(lambda: "ready" in stack.log("worker1"), what="the second worker")
    os.kill(stack.processes["worker0"].pid, signal.SIGTERM)
    eventually(lambda: "shutdown" in stack.log("worker0").lower(), what="the first worker's farewell")
    stack.release("deploy")
    assert client.wait(turn["id"])["end_reason"] == "done"
    assert watching.result().text == client.answer(session)["content"]
    assert client.turn(turn["id"])["attempt"] == 2
    eventually(lambda: stack.processes["worker0"].poll() is not None, what="the first worker's end")


def test_redis_killed_mid_turn_loses_nothing(stack: Stack) -> None:
    with stack.worker():
        kill_redis_mid_turn(stack)


def test_redis_without_a_file_killed_mid_turn_loses_nothing(new_stack: NewStack) -> None:
    kill_redis_mid_turn(new_stack(workers=1, append_only=False))


def kill_redis_mid_turn(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    turn = client.send(session, {"id": "redis", "steps": [{"chunks": 60, "delay": 0.05}]})
    watching = Watching(client, turn["id"])
    eventually(lambda: "text-delta" in watching.reader.kinds)
    stack.kill("redis")
    stack.start_redis()
    assert client.wait(turn["id"])["end_reason"] == "done"
    assert watching.result().text == client.answer(session)["content"]
    again = client.send(session, {"steps": [{"text": "still here"}]})
    assert client.wait(again["id"])["end_reason"] == "done"


def test_flushall_mid_turn_keeps_every_reader_right(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    with stack.worker(), redis.Redis(unix_socket_path=str(stack.socket)) as server:
        turn = client.send(session, {"id": "flush", "steps": [{"chunks": 60, "delay": 0.05}]})
        early = Watching(client, turn["id"])
        eventually(lambda: early.reader.kinds.count("text-delta") > 5)
        server.flushall()
        late = Watching(client, turn["id"])
        assert client.wait(turn["id"])["end_reason"] == "done"
        text = client.answer(session)["content"]
        assert early.result().text == late.result().text == text
        server.flushall()
        assert Reader(client, turn["id"]).read_to_end().text == text


def test_web_process_killed_mid_turn_and_reader_rejoins_at_its_place(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    with stack.worker():
        turn = client.send(session, {"id": "web", "steps": [{"chunks": 60, "delay": 0.05}]})
        watching = Watching(client, turn["id"])
        eventually(lambda: "text-delta" in watching.reader.kinds)
        stack.kill("web0")
        stack.start_web(0)
        reader = watching.result()
        assert client.wait(turn["id"])["end_reason"] == "done"
    assert reader.text == client.answer(session)["content"]
    assert reader.kinds.count("start") == 1


def test_broker_down_at_send_is_accepted_and_answered_later(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    with stack.worker():
        stack.kill("redis")
        sent = client.http.post(f"/api/sessions/{session}/turns", json={"message": "hello there"})
        assert sent.status_code == 202
        stack.start_redis()
        assert client.wait(sent.json()["turn"]["id"])["end_reason"] == "done"


def test_doubled_pokes_run_a_turn_once(stack: Stack) -> None:
    client = stack.client()
    with stack.worker(0), stack.worker(1):
        for number in range(10):
            turn = client.send(client.new_session(), {"id": f"double-{number}", "steps": [{"text": "once"}]})
            for _ in range(5):
                stack.send_task("chat.run_turn", turn["id"], queue="turns")
            ended = client.wait(turn["id"])
            assert (ended["end_reason"], ended["attempt"]) == ("done", 1)
    asked = [request["conversation"] for request in stack.model_requests()]
    assert sorted(name for name in asked if name.startswith("double-")) == [f"double-{n}" for n in range(10)]


def went_on(client: Client, turn_id: str, attempts: int) -> bool:
    return bool(client.turn(turn_id)["attempt"] > attempts)


def test_turn_that_kills_every_worker_ends_as_worker_lost(new_stack: NewStack) -> None:
    stack = new_stack(workers=0, lease_seconds=1.0)
    client = stack.client()
    session = client.new_session()
    turn = client.send(session, {"id": "poison", "steps": [{"text": "never", "gate": "poison"}]})
    for number in range(5):
        stack.start_worker(1)
        eventually(partial(went_on, client, turn["id"], number), what="an attempt")
        stack.kill("worker1")
    stack.start_worker(1)
    ended = client.wait(turn["id"])
    assert (ended["status"], ended["end_reason"]) == ("failed", "worker_lost")
    reader = Reader(client, turn["id"]).read_to_end()
    assert reader.kinds[-2:] == ["error", "finish"]
