"""The fault scenarios F1 to F20, each of which injects faults under load. invariants.py checks the result."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import redis

from benchmarks.chaos.field import Field, talk
from benchmarks.chaos.proxy import Proxy
from benchmarks.chaos.scenario import scenario
from benchmarks.side_by_side import Series, number, resident_megabytes
from chat.models import Turn
from tests.fork_server import ForkedProcess
from tests.harness import PEOPLE, START_SECONDS, eventually

CRASH_POINTS = (
    "after_claim", "before_model", "mid_model", "after_model", "after_step_commit", "after_intent",
    "after_effect", "after_result", "before_next_step", "before_final_commit", "after_final_commit", "after_finish",
)  # fmt: skip


@scenario("F1", "kill -9 of a worker at random", short=True)
def kill_workers(field: Field) -> None:
    with field.load():
        for _ in range(field.pick(3, 60)):
            field.kill_worker(field.victim())


@scenario("F3", "kill -9 at twelve named points")
def kill_at_points(field: Field) -> None:
    """Kill a worker at this point; one that is started afterwards continues."""
    for name in field.worker_names():
        field.stack.kill(name)
    died = 0
    for point in CRASH_POINTS if not field.short else CRASH_POINTS[2:7:4]:
        for _ in range(field.pick(1, 2)):
            (field.stack.home / f"crashed-{point}").unlink(missing_ok=True)
            field.stack.start_worker(0, crash_at=point)
            field.send(talk(words=8, delay=0.02))
            doomed = field.stack.processes["worker0"]
            wait_for_death(doomed, point)
            died += doomed.returncode == -signal.SIGKILL
            field.struck(field.running())
            field.stack.start_worker(1)
            field.settle()
            field.stack.kill("worker1")
    field.notes["died at their point"] = died


def wait_for_death(process: subprocess.Popen[bytes] | ForkedProcess, point: str) -> None:
    eventually(lambda: process.poll() is not None, seconds=START_SECONDS, what=f"the crash {point}")


@scenario("F4", "SIGSTOP for longer than the lease, then SIGCONT", short=True)
def freeze_workers(field: Field) -> None:
    """Freeze a worker: when it comes back it must change nothing; `check_rows` looks for its writes."""
    rounds, frozen_seconds = field.pick(1, 12), 2 * field.stack.lease_seconds
    with field.load(per_second=1, words=30):
        for _ in range(rounds):
            name = field.victim()
            field.struck(field.held_by(name))
            field.stack.kill(name, signal.SIGSTOP)
            time.sleep(frozen_seconds)
            field.stack.kill(name, signal.SIGCONT)
            time.sleep(random.uniform(0.5, 1.5))


@scenario("F5", "kill -9 of Redis, with its append-only file", short=True)
def kill_redis(field: Field) -> None:
    with field.load():
        for _ in range(field.pick(3, 20)):
            time.sleep(random.uniform(0.5, 2.5))
            field.struck(field.running())
            field.stack.kill("redis")
            time.sleep(random.uniform(0, 0.5))
            field.stack.start_redis()
    note_exits(field)


@scenario("F6", "FLUSHALL, and a Redis that comes back empty", short=True)
def empty_redis(field: Field) -> None:
    with field.load():
        for number_ in range(field.pick(2, 10)):
            time.sleep(random.uniform(0.8, 2.0))
            field.struck(field.running())
            if number_ % 2:
                lose_redis(field)
            else:
                redis.Redis(unix_socket_path=str(field.stack.socket)).flushall()
    note_exits(field)


def lose_redis(field: Field) -> None:
    field.stack.kill("redis")
    for path in (field.stack.home / "redis").rglob("*"):
        if path.is_file():
            path.unlink()
    field.stack.start_redis()


@scenario("F7", "no Redis for a while")
def redis_away(field: Field) -> None:
    away = field.pick(6, 30)
    with field.load():
        for _ in range(field.pick(1, 2)):
            time.sleep(2)
            field.struck(field.running())
            field.stack.kill("redis")
            time.sleep(away)
            field.stack.start_redis()
            time.sleep(5)
    field.notes["refused POSTs"] = len(field.refusals)


@scenario("F8", "kill -9 of the web process")
def kill_web(field: Field) -> None:
    with field.load(words=40):
        for _ in range(field.pick(2, 10)):
            time.sleep(random.uniform(2, 4))
            field.struck(frozenset())
            field.stack.kill("web0")
            field.stack.start_web(0)


@scenario("F9", "connections cut at a random byte", short=True)
def cut_connections(field: Field) -> None:
    proxy = Proxy(field.stack.web_ports[0], cut_within=4_000)
    try:
        with field.load(at_least=field.pick(10, 120), per_second=3, port=proxy.port):
            pass
    finally:
        proxy.close()
    field.notes["cuts"] = proxy.cuts


@scenario("F10", "clients that read slowly or not at all")
def slow_clients(field: Field) -> None:
    """Slow readers of 4 MB answers must neither fill the memory of the server nor delay others."""
    pid = field.pid("web0")
    clients = field.pick(10, 50)
    one = field.send([{"text": "word ", "fault": {"nonsense": "huge_chunk"}}])  # an answer of 4 MB
    assert one is not None
    field.settle()
    before = resident_megabytes(pid)
    slow = Proxy(field.stack.web_ports[0], bytes_per_second=1024)
    held = [dead_client(field, slow.port, str(one.turn_id)) for _ in range(clients)]
    with field.load(at_least=field.pick(6, 30)):
        pass
    field.notes["web grew by MB"] = number(resident_megabytes(pid) - before)
    for connection in held:
        connection.close()
    slow.close()


def dead_client(field: Field, port: int, turn_id: str) -> socket.socket:
    """Open a stream and never read it."""
    connection = socket.create_connection(("127.0.0.1", port))
    key = field.stack.keys[PEOPLE[0]]
    connection.sendall(
        f"GET /api/turns/{turn_id}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    )
    return connection


@scenario("F11", "the broker refuses while messages come in")
def broker_down(field: Field) -> None:
    started = time.monotonic()
    spans = []
    with field.stack.broker_away():
        for _ in range(field.pick(5, 50)):
            sent_at = time.monotonic()
            field.send(talk(words=3, delay=0.01))
            spans.append(time.monotonic() - sent_at)
    field.settle()
    field.notes["POST p99 s (two requests)"] = number(Series.of(spans).quantile(0.99))
    field.notes["refused POSTs"] = len(field.refusals)
    field.notes["all over after s"] = number(time.monotonic() - started)


@scenario("F12", "the database is locked")
def database_locked(field: Field) -> None:
    """Lock the database from another program: no message may be accepted without its row."""
    with field.load():
        for _ in range(field.pick(1, 5)):
            time.sleep(1.5)
            field.struck(field.running())
            with field.stack.database_locked():
                time.sleep(field.pick(4, 10))
    field.notes["refused POSTs"] = len(field.refusals)


MODEL_FAULTS: dict[str, tuple[dict[str, Any], set[str], int]] = {
    # fault, end reasons that are right, most model requests of the turn
    "429, retry after 1 s": ({"status": 429, "retry_after": 1}, {"done"}, 2),
    "500 twice": ({"status": 500, "times": 2}, {"done"}, 3),
    "500 for ever": ({"status": 500, "times": None}, {"model_error"}, 3),
    "401": ({"status": 401, "times": None}, {"model_error"}, 1),
    "connection closed": ({"drop": True}, {"done"}, 2),
    "cut after 5 pieces": ({"cut_after_chunks": 5}, {"done"}, 2),
    "cut at once, twice": ({"cut_after_chunks": 0, "times": 2}, {"done"}, 3),
    "web page": ({"nonsense": "html"}, {"model_error"}, 3),
    "broken event": ({"nonsense": "bad_sse"}, {"done", "model_error"}, 3),
    "no event stream": ({"nonsense": "no_sse"}, {"model_error"}, 3),
    "error body": ({"nonsense": "error_body"}, {"model_error"}, 3),
    "error event": ({"nonsense": "error_event"}, {"model_error"}, 3),
    "half tool arguments": ({"nonsense": "bad_tool_json"}, {"done"}, 3),
    "no finish reason": ({"nonsense": "no_finish"}, {"done", "model_error"}, 3),
    "no [DONE]": ({"nonsense": "no_done"}, {"done"}, 1),
}


@scenario("F13", "fifteen ways a model can fail")
def model_faults(field: Field) -> None:
    each = field.pick(1, 5)
    sent: dict[uuid.UUID, str] = {}
    asked: dict[str, str] = {}
    for name, (fault, _, _) in MODEL_FAULTS.items():
        for _ in range(each):
            step: dict[str, Any] = {"text": "These are the words of the answer.", "fault": fault}
            if fault.get("nonsense") == "bad_tool_json":
                step["tool_calls"] = [{"name": "test_pure", "arguments": {"value": "x"}, "id": "call_x"}]
            one = field.send([step])
            if one is not None:
                sent[one.turn_id] = name
    field.settle()
    wrong = []
    for turn in Turn.objects.filter(pk__in=sent):
        asked[str(turn.pk)] = turn.end_reason
        if turn.end_reason not in MODEL_FAULTS[sent[turn.pk]][1]:
            wrong.append(f"{sent[turn.pk]}: {turn.end_reason}")
    field.notes["right end"] = f"{len(sent) - len(wrong)}/{len(sent)}"
    if wrong:
        field.notes["wrong"] = "; ".join(sorted(set(wrong)))
    field.notes["ends expected to fail"] = sum("done" not in MODEL_FAULTS[name][1] for name in sent.values())


@scenario("F14", "every poke comes six times, in any order", short=True)
def doubled_pokes(field: Field) -> None:
    app = field.stack.celery()
    sent = []
    for _ in range(field.pick(8, 100)):
        one = field.send(talk(words=4, delay=0.01))
        sent += [one] * 5 if one is not None else []
    random.shuffle(sent)
    for one in sent:
        app.send_task("chat.run_turn", args=[str(one.turn_id)], queue="turns")
    field.settle()
    field.notes["attempts"] = f"{field.attempts()} for {len(field.recorded)} turns"


@scenario("F15", "one client_id sent by twenty at once")
def same_client_id(field: Field) -> None:
    wrong = 0
    client = field.stack.client()
    for _ in range(field.pick(3, 50)):
        session, key = client.new_session(), uuid.uuid4().hex
        message = {"id": key, "steps": [{"text": "once"}]}

        def post(_: int, session: str = session, key: str = key, message: dict[str, Any] = message) -> str:
            return str(client.send(session, message, client_id=key)["id"])

        with ThreadPoolExecutor(20) as pool:
            wrong += len(set(pool.map(post, range(20)))) != 1
    field.settle()
    field.notes["keys with more than one turn"] = wrong


@scenario("F17", "rolling deploy: SIGTERM to one worker after the other", short=True)
def rolling_deploy(field: Field) -> None:
    with field.load():
        for number_ in range(field.pick(2, 10)):
            time.sleep(1)
            field.restart_worker_softly(f"worker{number_ % field.workers}")
            eventually(field.all_up, seconds=START_SECONDS, what="the new worker")
    field.notes["turns that ended with an error"] = failed(field)


@scenario("F20", "soak: a little of everything for half an hour", only_named=True)
def soak(field: Field) -> None:
    minutes = field.pick(1, 30)
    pids = {name: field.pid(name) for name in ("web0", "redis")}
    before = {name: resident_megabytes(pid) for name, pid in pids.items()}
    handles = open_files(pids["web0"])
    with field.load(per_second=1):
        until = time.monotonic() + minutes * 60
        while time.monotonic() < until:
            time.sleep(random.uniform(5, 15))
            if random.random() < 0.8:
                field.kill_worker(field.victim())
            else:
                field.struck(field.running())
                field.stack.kill("redis")
                field.stack.start_redis()
                pids["redis"] = field.pid("redis")
    grown = {name: number(resident_megabytes(pid) - before[name]) for name, pid in pids.items()}
    field.notes["memory grew by MB"] = grown
    field.notes["open files of web"] = f"{handles} -> {open_files(pids['web0'])}"


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def failed(field: Field) -> int:
    ids = [one.turn_id for one in field.recorded]
    return Turn.objects.filter(pk__in=ids).exclude(end_reason=Turn.EndReason.DONE).count()


def note_exits(field: Field) -> None:
    """Return the workers that died of the fault; a supervisor would restart them, as `revive` does."""
    gone = [name for name in field.stack.processes if field.stack.processes[name].poll() is not None]
    field.notes["processes that exited"] = ", ".join(gone) or "none"
