"""The test bed of one scenario: a stack under paced load, a recorder per turn, and faults to inject."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from benchmarks.chaos.invariants import EFFECT, FOREIGN_EFFECT, Recorded
from benchmarks.chaos.stacks import ChaosStack
from chat.models import Attempt, Turn
from durable.models import Job, WorkerBeat
from tests.harness import PEOPLE, START_SECONDS, Client, Reader, eventually

ACCEPT_SECONDS = 60.0
END_SECONDS = 60.0
WORKERS = 2


def talk(*, words: int = 15, delay: float = 0.05) -> list[dict[str, Any]]:
    """A turn of two steps with effects between them; about two seconds."""
    calls = [
        {"name": name, "arguments": {"note": "x"}, "id": f"call_{name}"}
        for name in (EFFECT, FOREIGN_EFFECT, "test_idempotent")
    ]
    return [{"chunks": words, "delay": delay, "tool_calls": calls}, {"chunks": words, "delay": delay}]


@dataclass
class Blow:
    """One fault: when it happened and which running turns it hit."""

    at: float
    turns: frozenset[uuid.UUID]


@dataclass
class Field:
    """One running scenario."""

    stack: ChaosStack
    short: bool
    workers: int = WORKERS
    recorded: list[Recorded] = field(default_factory=list)
    blows: list[Blow] = field(default_factory=list)
    notes: dict[str, object] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)  # violations that the scenario itself found

    def __post_init__(self) -> None:
        self._clients = {name: self.stack.client(name) for name in PEOPLE}
        self._numbers = itertools.count()
        self._threads: list[threading.Thread] = []
        self._refused: list[str] = []
        self._lock = threading.Lock()

    def pick(self, short: int, full: int) -> int:
        return short if self.short else full

    # --- load -------------------------------------------------------------------------------------

    @contextmanager
    def load(
        self, *, per_second: float = 1.5, at_least: int = 1, port: int = 0, **options: Any
    ) -> Iterator[None]:
        """Send turns at this pace during the block, then wait until all have ended."""
        over = threading.Event()
        sender = self._thread(lambda: self._send_all(over, at_least, per_second, port, options))
        try:
            yield
        finally:
            over.set()
        sender.join(at_least / per_second + ACCEPT_SECONDS)
        self.settle()

    def _send_all(
        self, over: threading.Event, at_least: int, per_second: float, port: int, options: dict[str, Any]
    ) -> None:
        sent = 0
        while sent < at_least or not over.is_set():
            self._thread(lambda: self.send(talk(**options), port=port))
            sent += 1
            time.sleep(random.uniform(0.5, 1.5) / per_second)

    def send(self, steps: list[dict[str, Any]], *, port: int = 0, watch: bool = True) -> Recorded | None:
        """Send one turn, retrying with the same client_id until it is accepted, and record what its client receives."""
        number = next(self._numbers)
        client = self._clients[PEOPLE[number % len(PEOPLE)]]
        accepted = self._accept(client, {"id": uuid.uuid4().hex, "steps": steps})
        if accepted is None:
            return None
        one = Recorded(uuid.UUID(accepted))
        with self._lock:
            self.recorded.append(one)
        if watch:
            watching = client if not port else Client(f"http://127.0.0.1:{port}", client.key)
            one.reader = Reader(watching, accepted)
            self._thread(lambda: self._record(one))
        return one

    def _accept(self, client: Client, message: dict[str, Any]) -> str | None:
        key, session = uuid.uuid4().hex, ""
        deadline = time.monotonic() + ACCEPT_SECONDS
        while time.monotonic() < deadline:
            try:
                session = session or client.new_session()
                return str(client.send(session, message, client_id=key)["id"])
            except (httpx.HTTPError, AssertionError) as error:
                with self._lock:
                    self._refused.append(str(error)[:200])
                time.sleep(0.1)
        return None

    def _record(self, one: Recorded) -> None:
        assert one.reader is not None
        try:
            one.reader.read_to_end(seconds=END_SECONDS + ACCEPT_SECONDS)
        except (AssertionError, httpx.HTTPError, KeyError, ValueError) as error:
            one.failure = str(error)[:200]

    def _thread(self, work: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        with self._lock:
            self._threads.append(thread)
        return thread

    def settle(self) -> None:
        """Wait until every turn has ended and every recorder has heard its end, or the deadline has passed.

        The deadline follows progress: it is counted anew whenever a turn has ended.
        """
        deadline, left = time.monotonic() + END_SECONDS, self.open_turns()
        while (open_ := self.open_turns()) and time.monotonic() < deadline:
            if open_ < left:
                deadline, left = time.monotonic() + END_SECONDS, open_
            time.sleep(0.1)
        self.notes["settled"] = "no" if open_ else "yes"
        while self._threads and time.monotonic() < deadline + 10:
            self._threads.pop().join(max(0.1, deadline + 10 - time.monotonic()))
        for one in self.recorded:
            if one.reader is not None and not one.reader.finished and not one.failure:
                one.failure = f"no finish, last heard {one.reader.kinds[-3:]}"

    def open_turns(self) -> int:
        return Turn.objects.exclude(status__in=Job.TERMINAL).count()

    # --- faults -----------------------------------------------------------------------------------

    def pid(self, name: str) -> int:
        return self.stack.processes[name].pid

    def held_by(self, name: str) -> frozenset[uuid.UUID]:
        """Return the turns that a worker is running."""
        mine = Turn.objects.filter(status=Turn.RUNNING, owner__contains=f":{self.pid(name)}:")
        return frozenset(mine.values_list("pk", flat=True))

    def running(self) -> frozenset[uuid.UUID]:
        return frozenset(Turn.objects.filter(status=Turn.RUNNING).values_list("pk", flat=True))

    def struck(self, turns: frozenset[uuid.UUID]) -> None:
        self.blows.append(Blow(time.time(), turns))

    def is_up(self, name: str) -> bool:
        return WorkerBeat.objects.filter(name__contains=f":{self.pid(name)}:").exists()

    def all_up(self) -> bool:
        return all(self.is_up(name) for name in self.worker_names())

    def worker_names(self) -> list[str]:
        return [f"worker{number}" for number in range(self.workers)]

    def victim(self, *, seconds: float = 10.0) -> str:
        """Return a worker in the middle of a turn, at a random moment, while another can take over."""
        eventually(self.all_up, seconds=START_SECONDS, what="all workers")
        deadline = time.monotonic() + seconds
        names = self.worker_names()
        while time.monotonic() < deadline:
            random.shuffle(names)
            for name in names:
                if self.stack.processes[name].poll() is None and self.held_by(name):
                    time.sleep(random.uniform(0, 0.6))
                    return name
            time.sleep(0.05)
        return names[0]

    def kill_worker(self, name: str) -> None:
        """Kill it with SIGKILL and start it again, as a supervisor would."""
        self.struck(self.held_by(name))
        self.stack.kill(name)
        self.stack.start_worker(int(name.removeprefix("worker")))

    def revive(self) -> None:
        """Start everything again, for the next scenario."""
        for name, process in list(self.stack.processes.items()):
            if process.poll() is None:
                continue
            match name.rstrip("0123456789"):
                case "redis":
                    self.stack.start_redis()
                case "worker":
                    self.stack.start_worker(int(name.removeprefix("worker")))
                case "web":
                    self.stack.start_web(int(name.removeprefix("web")))
        self.stack.wait_ready(self.workers)

    def restart_worker_softly(self, name: str, *, seconds: float = 40.0) -> None:
        """Send SIGTERM, wait for its end and start it again."""
        self.struck(self.held_by(name))
        process = self.stack.processes[name]
        os.kill(process.pid, signal.SIGTERM)
        eventually(lambda: process.poll() is not None, seconds=seconds, what=f"the end of {name}")
        self.stack.start_worker(int(name.removeprefix("worker")))

    # --- figures ----------------------------------------------------------------------------------

    @property
    def hits(self) -> int:
        return sum(bool(blow.turns) for blow in self.blows)

    @property
    def refusals(self) -> list[str]:
        return self._refused

    def recoveries(self) -> list[float]:
        """Return the seconds from each fault to the next attempt at each turn it hit."""
        found = []
        for blow in self.blows:
            for turn_id in blow.turns:
                attempts = Attempt.objects.filter(turn_id=turn_id).order_by("number")
                after = [
                    row.started_at.timestamp() for row in attempts if row.started_at.timestamp() > blow.at
                ]
                found += [after[0] - blow.at] if after else []
        return sorted(found)

    def attempts(self) -> int:
        return Attempt.objects.filter(turn_id__in=[one.turn_id for one in self.recorded]).count()
