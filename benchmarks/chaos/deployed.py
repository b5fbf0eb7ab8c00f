"""The fault scenarios of a deployment, F16 to F19 and F21 to F33: servers that fail, poison, clocks, operators."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
from celery import Celery
from django.db import connection

from accounts.models import User
from benchmarks.chaos.field import Field
from benchmarks.chaos.invariants import Recorded
from benchmarks.chaos.scenario import scenario
from benchmarks.chaos.stacks import INTERNAL_KEY, ProductionStack
from benchmarks.side_by_side import Series, number
from chat.models import Turn
from durable import jobs, pausing
from tests.executions.engine.graphs import agent_json
from tests.rig import PEOPLE, ROOT, Client, Reader, eventually

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
EXECUTION_ENDED = ("COMPLETED", "FAILED", "TERMINATED")
WATCHDOG_PATIENCE_SECONDS = 45.0  # longer than a watchdog waits for its canaries
HOUR = 3600
PAUSE_SEEN_SECONDS = 5.0  # workers read pauses with every sweep


def production(field: Field) -> ProductionStack:
    assert isinstance(field.stack, ProductionStack)
    return field.stack


# --- F16 to F19 -----------------------------------------------------------------------------------


@scenario("F16", "outside results: doubled, late, while workers die")
def doubled_completions(field: Field) -> None:
    """Each operation is completed by three deliveries at once and brings its conversation back exactly once."""
    client = field.stack.client()
    works = [start_operation(client) for _ in range(field.pick(4, 40))]
    with field.load():
        with ThreadPoolExecutor(12) as pool:
            for done, (_, operation) in enumerate(works):
                for _ in range(3):
                    pool.submit(complete, client, operation)
                if done % 8 == 3:
                    field.kill_worker(field.victim())
        complete_all(field, client, works)
    for session, operation in works:
        turns = Turn.objects.filter(session_id=session)
        if turns.count() != 2 or turns.filter(end_reason=Turn.EndReason.DONE).count() != 2:
            field.wrong.append(f"operation {operation}: {turns.count()} turns instead of 2")


def start_operation(client: Client) -> tuple[str, str]:
    session = client.new_session()
    call = {"name": "test_operation", "arguments": {"accepted": True}, "id": "call_long"}
    steps = [{"tool_calls": [call]}, {"text": "It goes on by itself."}, {"text": "It came back."}]
    turn = client.send(session, {"id": f"work-{session}", "steps": steps})
    client.wait(turn["id"])
    parts = [part for message in client.session(session)["messages"] for part in message["parts"]]
    return session, str(
        next(p for p in parts if p["type"] == "tool-test_operation")["output"]["operation_id"]
    )


def complete(client: Client, operation: str) -> int:
    with suppress(httpx.HTTPError):
        return client.http.post(
            f"/api/operations/{operation}/complete",
            json={"success": True, "result": {"made": "x"}},
            headers={"X-API-Key": INTERNAL_KEY},
        ).status_code
    return 0


def complete_all(field: Field, client: Client, works: list[tuple[str, str]]) -> None:
    """Deliver again, as such services do, until each is accepted and its conversation has come back."""
    for session, operation in works:
        eventually(partial(accepted, client, operation), what=f"the completion of {operation}")
        eventually(partial(came_back, session), what=f"the continuation in {session}")


def accepted(client: Client, operation: str) -> bool:
    return complete(client, operation) == 200


def came_back(session: str) -> bool:
    turns = Turn.objects.filter(session_id=session)
    return turns.count() > 1 and not turns.exclude(status__in=Turn.TERMINAL).exists()


def no_small_disk() -> str:
    return "" if os.getuid() == 0 else "a full disk needs a file system of its own, so root"


@scenario("F18", "the database's disk is full", on_production=True, why_not=no_small_disk)
def disk_full(field: Field) -> None:
    stack = production(field)
    for _ in range(field.pick(1, 3)):
        with field.load():
            time.sleep(2)
            field.struck(field.running())
            with full(stack.postgres.folder):
                time.sleep(field.pick(5, 10))
            if stack.postgres.process is not None and stack.postgres.process.poll() is not None:
                stack.postgres.start()
            connection.close()
    field.notes["refused POSTs"] = len(field.refusals)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Leave no byte free."""
    filler = folder / "filler"
    try:
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 65_536)
        yield
    finally:
        filler.unlink(missing_ok=True)


def no_faketime() -> str:
    return "" if FAKETIME else "it needs libfaketime (on Debian: apt install faketime)"


def shifted_clock(field: Field, name: str, seconds: int) -> dict[str, str]:
    """The environment of a process whose clock is wrong by what its file says; monotonic clocks stay right."""
    path = set_clock(field, name, seconds)
    return {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(path),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


def set_clock(field: Field, name: str, seconds: int) -> Path:
    path = field.stack.home / f"{name}.clock"
    path.write_text(f"{seconds:+d}\n")
    return path


@contextmanager
def wrong_clocks(field: Field, *shifts: int) -> Iterator[None]:
    """Run the workers with clocks that are wrong by so many seconds."""
    for worker, shift in zip(range(field.workers), shifts, strict=False):
        field.stack.kill(f"worker{worker}")
        field.stack.start_worker(worker, env=shifted_clock(field, f"worker{worker}", shift))
    eventually(field.all_up, what="workers with wrong clocks")
    yield
    for name in field.worker_names():
        field.stack.kill(name)
        field.stack.start_worker(int(name.removeprefix("worker")))


@scenario("F19", "clocks of workers jump by an hour, forth and back", why_not=no_faketime)
def clock_jumps(field: Field) -> None:
    with wrong_clocks(field, *([0] * field.workers)):
        before = takeovers()
        with field.load():
            for jump in range(field.pick(2, 20)):
                time.sleep(2)
                field.struck(field.running())
                for name in field.worker_names():
                    (field.stack.home / f"{name}.clock").write_text(
                        f"{HOUR * random.choice((-1, 1)) * (jump % 2):+d}\n"
                    )
        expect_no_takeover(field, before)


def takeovers() -> int:
    return Turn.objects.filter(attempt__gt=1).count()


def expect_no_takeover(field: Field, before: int) -> None:
    if takeovers() > before:
        field.wrong.append(f"{takeovers() - before} turns were taken from workers that lived")


# --- poison and crowds ----------------------------------------------------------------------------


@scenario("F21", "300 slow model calls of one execution in one worker process", short=True)
def many_model_calls(field: Field) -> None:
    """Every call is made once, and the turns of others beside them keep their first attempt."""
    for name in field.worker_names()[1:]:
        field.stack.kill(name)
    calls = field.pick(100, 300)
    before, run = takeovers(), uuid.uuid4().hex[:8]
    ann = field.stack.client()
    with field.load(per_second=0.5):
        execution = start_agent(ann, model_nodes(calls, run))
        found = wait_execution(ann, execution)
    asked = [
        request
        for request in field.stack.model_requests()
        if f"f21-{run}-" in str(request.get("script", request))
    ]
    field.notes["calls"] = f"{len(asked)} for {calls} blocks"
    if found["status"] != "COMPLETED" or len(asked) != calls:
        field.wrong.append(
            f"{found['status']} after {len(asked)} requests for {calls} blocks: {found.get('error')}"
        )
    expect_no_takeover(field, before)


def model_nodes(calls: int, run: str) -> dict[str, Any]:
    def prompt(node: int) -> str:
        return f'SCRIPT: {{"id": "f21-{run}-{node}-", "steps": [{{"text": "yes", "first_delay": 4}}]}}'

    return {f"n{node}": ("AI Text Generator", {"prompt": prompt(node)}) for node in range(calls)}


def start_agent(client: Client, nodes: dict[str, Any]) -> str:
    agent = client._ok(client.http.post("/api/agents", json=agent_json(nodes, [])))
    assert agent["validation"]["valid"], agent["validation"]
    return str(client._ok(client.http.post(f"/api/agents/{agent['id']}/execute", json={"inputs": {}}))["id"])


def wait_execution(client: Client, execution: str) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        found = client._ok(client.http.get(f"/api/executions/{execution}"))
        return found if found["status"] in EXECUTION_ENDED else None

    found = eventually(ended, seconds=240, what=f"the end of execution {execution}")
    assert found is not None
    return found


POISON: dict[str, list[dict[str, Any]]] = {
    "NUL in text": [{"text": "before \x00 after"}],
    "half a character in text": [{"chunks": ["before \ud83d", " after \udc00"]}],
    "NUL in a tool's name": [{"tool_calls": [{"name": "find\x00_block", "arguments": {}, "id": "c"}]}],
    "NUL and half a character in an id": [
        {"tool_calls": [{"name": "test_pure", "arguments": {"value": "x"}, "id": "c\x00\ud800"}]}
    ],
    "NUL in arguments": [{"tool_calls": [{"name": "test_pure", "arguments": {"value": "\x00"}, "id": "c"}]}],
    "usage beyond every column": [
        {"text": "paid", "usage": {"prompt_tokens": 10**30, "completion_tokens": 10**30}}
    ],
    "negative usage": [{"text": "paid", "usage": {"prompt_tokens": -5, "completion_tokens": -1}}],
    "usage that is no number": [
        {"text": "paid", "usage": {"prompt_tokens": "many", "completion_tokens": [1]}}
    ],
    "infinite usage": [{"text": "paid", "usage": {"prompt_tokens": float("inf"), "completion_tokens": 1}}],
    "NUL in an error": [
        {"text": "-", "fault": {"status": 400, "error": {"message": "no\x00\ud800"}, "times": None}}
    ],
}


@scenario("F22", "poison from the model server, and workers that die meanwhile", short=True)
def poison(field: Field) -> None:
    """Every poisoned turn ends visibly with what can be kept of it, and nobody else notices."""
    wrong = []
    with field.load():
        sent = []
        for _ in range(field.pick(1, 5)):
            sent += [(name, field.send(steps)) for name, steps in POISON.items()]
            field.kill_worker(field.victim())
    for name, one in sent:
        right = {"model_error"} if name == "NUL in an error" else {"done"}
        ends = (
            Turn.objects.filter(pk=one.turn_id).values_list("end_reason", flat=True)
            if one
            else ["not accepted"]
        )
        wrong += [f"{name}: {end}" for end in ends if end not in right]
    field.wrong += sorted(set(wrong))


@scenario("F29", "2,000 queued turns: the broker holds few messages")
def crowd(field: Field) -> None:
    """All running turns stand still for a while; what waits behind them must not fill the broker."""
    turns, gate = field.pick(200, 2_000), uuid.uuid4().hex
    room = 32 * field.workers
    peak = Peak(field.stack.celery())
    with ThreadPoolExecutor(8) as pool:
        steps = [{"text": "done", "gate": gate}]
        list(pool.map(lambda _: field.send(steps, watch=False), range(turns)))
    peak.watch(seconds=field.pick(10, 40))
    field.stack.release(gate)
    field.settle()
    field.notes["most messages in the broker"] = f"{peak.most} for {turns} turns, {room} threads"
    if peak.most > 3 * room:
        field.wrong.append(f"{peak.most} messages in the broker for {room} threads")


class Peak:
    """The most messages that lay in the queue of turns."""

    def __init__(self, app: Celery) -> None:
        self.app = app
        self.most = 0

    def watch(self, *, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self.app.connection_for_read() as broker, broker.channel() as opened:
            channel: Any = opened
            while time.monotonic() < deadline:
                _, messages, _ = channel.queue_declare("turns", passive=True)
                self.most = max(self.most, messages)
                time.sleep(0.5)


@contextmanager
def paused_jobs(kind: str, name: str) -> Iterator[None]:
    """Pause them, and wait until every worker has read that."""
    pausing.pause(kind, name, reason="chaos")
    time.sleep(PAUSE_SEEN_SECONDS)
    try:
        yield
    finally:
        pausing.resume(kind, name)


@scenario("F30", "one person is paused under load")
def pause_person(field: Field) -> None:
    """The other person's turns and executions go on; the paused person's start when the pause is over."""
    ann, bob = (field.stack.client(name) for name in PEOPLE[:2])
    paused = str(User.objects.get(username=PEOPLE[0]).pk)
    nodes = {"n": ("AI Text Generator", {"prompt": 'SCRIPT: {"steps": [{"text": "yes"}]}'})}
    with field.load():
        with paused_jobs("user", paused):
            eventually(lambda: not running_of(paused), what="the end of what ran before the pause")
            held = [start_agent(ann, nodes) for _ in range(field.pick(10, 60))]
            for _ in range(field.pick(2, 10)):
                wait_execution(bob, start_agent(bob, nodes))
            started = [one for one in held if status(ann, one) != "QUEUED"]
            if started:
                field.wrong.append(f"{len(started)} executions of a paused person were started")
        for one in held:
            wait_execution(ann, one)


def running_of(user: str) -> bool:
    return Turn.objects.filter(user_id=user, status=Turn.RUNNING).exists()


def status(client: Client, execution: str) -> str:
    return str(client._ok(client.http.get(f"/api/executions/{execution}"))["status"])


# --- RabbitMQ -------------------------------------------------------------------------------------


@scenario("F23", "RabbitMQ: memory alarm, then disk alarm", on_production=True)
def broker_alarm(field: Field) -> None:
    """Publishing is blocked for longer than the watchdog waits: nobody dies, and turns are run all the same."""
    stack, before = production(field), takeovers()
    pids = {name: field.pid(name) for name in field.worker_names()}
    with field.load(per_second=1):
        field.struck(field.running())
        stack.rabbit.alarm(True)
        time.sleep(WATCHDOG_PATIENCE_SECONDS)
        stack.rabbit.alarm(False)
        time.sleep(3)
        if not field.short:
            stack.rabbit.control("set_disk_free_limit", "9000GB")
            time.sleep(WATCHDOG_PATIENCE_SECONDS)
            stack.rabbit.control("set_disk_free_limit", "50MB")
            time.sleep(3)
    expect_same_workers(field, pids)
    expect_no_takeover(field, before)


def expect_same_workers(field: Field, pids: dict[str, int]) -> None:
    gone = [name for name, pid in pids.items() if not alive(pid)]
    if gone:
        field.wrong.append(f"{', '.join(gone)} ended")


def alive(pid: int) -> bool:
    with suppress(OSError):
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return False


@scenario("F24", "RabbitMQ: consumer timeout of a minute, all threads busy", on_production=True)
def consumer_timeout(field: Field) -> None:
    """Messages that were fetched wait behind busy threads for longer than the timeout; nobody stops to consume."""
    gate = uuid.uuid4().hex
    for worker in range(field.workers):
        field.stack.kill(f"worker{worker}")
        field.stack.start_worker(worker, threads=2)
    eventually(field.all_up, what="workers with two threads")
    pids = {name: field.pid(name) for name in field.worker_names()}
    for _ in range(field.pick(12, 30)):
        field.send([{"text": "waited", "gate": gate}])
    time.sleep(90)
    field.stack.release(gate)
    field.settle()
    field.send([{"text": "after"}])
    field.settle()
    expect_same_workers(field, pids)
    deaf = [name for name in field.worker_names() if "PRECONDITION_FAILED" in field.stack.log(name, 100_000)]
    if deaf:
        field.wrong.append(f"{', '.join(deaf)}: the broker closed the channel")
    for worker in range(field.workers):
        field.stack.kill(f"worker{worker}")
        field.stack.start_worker(worker)


@scenario("F25", "a silent broker: it accepts connections and never answers", on_production=True)
def silent_broker(field: Field) -> None:
    stack = production(field)
    pids = {name: field.pid(name) for name in field.worker_names()}
    spans: list[float] = []
    with field.load(per_second=1):
        stack.broker.fall_silent()
        for _ in range(field.pick(1, 3)):
            with ThreadPoolExecutor(64) as pool:
                spans += pool.map(lambda _: timed_post(field), range(field.pick(16, 64)))
            time.sleep(field.pick(3, 15))
        stack.broker.recover()
    field.notes["POST p50 / p99 s (two requests, all at once)"] = (
        f"{number(Series.of(spans).median)} / {number(Series.of(spans).quantile(0.99))}"
    )
    expect_same_workers(field, pids)


def timed_post(field: Field) -> float:
    begun = time.monotonic()
    field.send([{"text": "sent into silence"}], watch=False)
    return time.monotonic() - begun


# --- PostgreSQL -----------------------------------------------------------------------------------


@scenario("F26", "PostgreSQL: restarted, then replaced by its standby", short=True, on_production=True)
def database_restarts(field: Field) -> None:
    stack = production(field)
    with field.load():
        for _ in range(field.pick(1, 5)):
            time.sleep(2)
            field.struck(field.running())
            stack.postgres.stop()
            time.sleep(random.uniform(0.2, 3))
            stack.postgres.start()
            connection.close()
        time.sleep(2)
        stack.fail_over()
        connection.close()
        time.sleep(2)
    field.notes["refused POSTs"] = len(field.refusals)


@scenario("F27", "PostgreSQL: one row is locked for 30 s", short=True, on_production=True)
def locked_row(field: Field) -> None:
    """Only the turn whose row it is may wait; the leases of all others are renewed."""
    stack, gate = production(field), uuid.uuid4().hex
    before = takeovers()
    slow = field.send([{"chunks": 20, "gate": gate, "gate_at": 5}])
    assert slow is not None
    eventually(
        lambda: Turn.objects.filter(pk=slow.turn_id, status=Turn.RUNNING).exists(), what="a running turn"
    )
    with field.load(), psycopg.connect(stack.database_url) as other:
        other.execute("SELECT 1 FROM chat_turn WHERE id = %s FOR UPDATE", [slow.turn_id])
        time.sleep(field.pick(10, 30))
        other.rollback()
        stack.release(gate)
    others = Turn.objects.filter(attempt__gt=1).exclude(pk=slow.turn_id).count()
    if others > before:
        field.wrong.append(f"{others - before} other turns lost their lease")


@scenario("F28", "clocks of workers ten minutes apart", why_not=no_faketime)
def clocks_apart(field: Field) -> None:
    with wrong_clocks(field, 600, -600, 0):
        before = takeovers()
        with field.load():
            time.sleep(field.pick(10, 60))
        expect_no_takeover(field, before)
        with field.load():
            for _ in range(field.pick(1, 10)):
                field.kill_worker(field.victim())


# An effect that came after the backup is forgotten with it and happens again, so these have none.
WITHOUT_EFFECTS: list[dict[str, Any]] = [
    {
        "chunks": 60,
        "delay": 0.05,
        "tool_calls": [{"name": "test_pure", "arguments": {"value": "x"}, "id": "call"}],
    },
    {"chunks": 60, "delay": 0.05},
]


@scenario("F31", "a backup is restored under a live Redis")
def restored_backup(field: Field) -> None:
    """Turns of the backup end as its rows say, whatever Redis remembers of the time after it."""
    archive = field.stack.home / f"backup-{uuid.uuid4().hex[:6]}.tar.gz"
    client = field.stack.client()
    for _ in range(field.pick(6, 30)):
        field.send(WITHOUT_EFFECTS, watch=False)
    with paused_jobs("queue", Turn.queue):
        for _ in range(field.pick(4, 20)):
            field.send(WITHOUT_EFFECTS, watch=False)
        manage(field, "backup", str(archive))
    field.settle()
    for name in [name for name in field.stack.processes if name.startswith(("web", "worker"))]:
        field.stack.kill(name)
    connection.close()
    manage(field, "restore", "--replace", str(archive))
    archive.unlink()
    (field.stack.home / "effects.txt").unlink(
        missing_ok=True
    )  # what happened after the backup is forgotten with it
    pausing.resume("queue", Turn.queue)  # the backup remembers the pause
    kept = set(Turn.objects.values_list("pk", flat=True))
    field.recorded[:] = [one for one in field.recorded if one.turn_id in kept]
    field.notes["running in the backup"] = field.open_turns()
    field.revive()
    for one in field.recorded:
        one.reader = Reader(Client(client.url, owner_key(field, one)), str(one.turn_id))
        one.reader.read_to_end()
    field.settle()


def owner_key(field: Field, one: Recorded) -> str:
    user = Turn.objects.get(pk=one.turn_id).user
    assert user is not None
    return field.stack.keys[user.username]


def manage(field: Field, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=field.stack.environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# --- operators and the sandbox --------------------------------------------------------------------


@scenario("F32", "operators end turns while their text streams", short=True)
def ended_by_operators(field: Field) -> None:
    """Marked failed or cancelled by force: every reader ends with the words that the database has."""
    ended = 0
    with field.load(per_second=2, words=60):
        for _ in range(field.pick(6, 60)):
            time.sleep(random.uniform(0.3, 1.0))
            running = list(field.running())
            if not running:
                continue
            act = random.choice((jobs.mark_failed, jobs.force_cancel))
            ended += act(Turn, random.choice(running))
    field.notes["ended by operators"] = ended


@scenario("F33", "sandboxed commands are killed at random moments", short=True)
def killed_commands(field: Field) -> None:
    """Commands run into their time limit, turns are cancelled, workers die: no process of the sandbox is left."""
    command = {
        "name": "bash_exec",
        "arguments": {"command": "sleep 30 & sleep 30", "timeout": 1},
        "id": "call_bash",
    }
    steps: list[dict[str, Any]] = [{"tool_calls": [command]}, {"text": "over"}]
    for round_ in range(field.pick(2, 10)):
        sent = [one for _ in range(field.pick(4, 8)) if (one := field.send(steps))]
        time.sleep(random.uniform(0.2, 1.5))
        for one in sent[::2]:
            jobs.request_cancel(Turn, one.turn_id)
        if round_ % 3 == 1:
            field.kill_worker(field.victim())
    field.settle()
    try:
        eventually(
            lambda: not sandboxed(field.stack.home), seconds=20, what="the end of the sandboxed processes"
        )
    except AssertionError:
        field.wrong.append(f"left behind: {sandboxed(field.stack.home)}")


def sandboxed(home: Path) -> list[str]:
    """Processes of a sandbox that work on behalf of this stack."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if "bwrap" in words and str(home) in words:
                found.append(words[:100])
    return found
