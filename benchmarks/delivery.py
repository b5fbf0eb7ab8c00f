"""Delivery from the writer to many websockets: latency and server CPU per message, next to two bare servers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import redis

from accounts.api_keys import create_api_key
from accounts.models import User
from benchmarks.conversations import claimed_turn, new_session
from benchmarks.side_by_side import Report, Series, Size, at_most, cpu_seconds, ratio_at_most
from chat.events import ProseDelta, ProseStarted, StepStarted
from chat.models import Turn
from chat.protocol import Framed
from durable import event_log
from durable.lease import Lease
from tests.harness import ROOT, Stack, free_port

TITLE = "the same events to N websockets: ours, a bare app with one shared reader, and one reader per socket"
SOCKETS_PER_USER = 20
MESSAGES_PER_SECOND = 1_500  # to all sockets together: what the clients of this machine can read meanwhile
MOST_PER_SOCKET = 50.0
SETTLE_SECONDS = 1.0


def run(stack: Stack, size: Size, report: Report) -> None:
    stack.start_web(0)
    bare_port = free_port()
    stack.launch("bare", "-m", "benchmarks.bare_socket", str(bare_port), str(stack.socket))
    stack.wait_ready(0)
    idle = connections(stack)
    used: dict[int, int] = {}
    for count in size.pick((1, 20), (1, 100, 400), (1, 100, 1_000)):
        used[count] = compare(stack, bare_port, count, size, report) - idle
    report.remark(
        f"Redis connections of the web process: {', '.join(f'{n} sockets: {c}' for n, c in used.items())}"
    )


def compare(stack: Stack, bare_port: int, count: int, size: Size, report: Report) -> int:
    """Connect all three crowds, then send events to each in turn."""
    ours = Watchers("ours", stack.processes["web0"].pid, *our_places(stack, count))
    held = connections(stack)
    bare = stack.processes["bare"].pid
    crowds = [
        ours,
        *(Watchers(way, bare, *bare_places(bare_port, way, count)) for way in ("shared", "original")),
    ]
    try:
        for crowd in crowds:
            crowd.measure(0.5)
            crowd.rest(size.pick(0.5, 2.0, 4.0))
            crowd.runs.clear()
        for _ in range(size.repetitions):
            for crowd in crowds:
                crowd.measure(size.pick(0.5, 2.0, 3.0))
    finally:
        for crowd in crowds:
            crowd.close()
    tell(report, count, *crowds)
    report.add(
        f"{count:,} sockets: idle CPU of the web process",
        "%",
        Series.of([ours.idle]),
        Series.of([crowds[1].idle]),
    )
    return held


def tell(report: Report, count: int, ours: Watchers, shared: Watchers, original: Watchers) -> None:
    name = f"{count:,} socket{'s' if count > 1 else ''}"
    big = count >= 1_000
    report.add(f"{name}: server CPU per message, against a bare app", "us", ours.series("cpu"), shared.series("cpu"),
               ratio_at_most(1.5) if big else None)  # fmt: skip
    report.add(f"{name}: server CPU per message, against a reader per socket", "us", ours.series("cpu"),
               original.series("cpu"), ratio_at_most(1 / 3) if big else None)  # fmt: skip
    report.add(f"{name}: lag p50", "ms", ours.series("p50"), shared.series("p50"))
    report.add(f"{name}: lag p99", "ms", ours.series("p99"), shared.series("p99"))
    lost = Series.of([sum(run["lost"] for run in ours.runs)])
    if ours.runs[-1]["closed"]:
        report.remark(
            f"{name}: {ours.runs[-1]['closed']:.0f} of our sockets were closed meanwhile and missed the rest"
        )
    report.add(f"{name}: lost messages", "", lost, goal=at_most(0))


@dataclass
class Watchers:
    """One crowd, the server that serves it, and the turns it watches."""

    name: str
    server: int
    places: list[dict[str, Any]]
    leases: list[Lease]
    runs: list[dict[str, float]] = field(default_factory=list)
    idle: float = 0.0

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.crowd"],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._say(json.dumps(self.places))
        answer = self._hear()
        assert answer == "READY", f"the crowd of {self.name} is not served: {answer!r}"

    def measure(self, seconds: float) -> None:
        """Send to each turn at an even pace; measure the CPU of the server until the last frame is sent."""
        self._report()
        rate = min(MOST_PER_SOCKET, MESSAGES_PER_SECOND / len(self.places))
        each = max(1, int(rate * seconds))
        cpu = cpu_seconds(self.server)
        sent = pace(self.leases, each, rate)
        expected = each * len(self.places)
        found = self._wait_for(expected)
        used = cpu_seconds(self.server) - cpu
        assert sent == each * len(self.leases)
        cost = {"cpu": used / expected * 1e6, "lost": expected - found["events"]}
        self.runs.append(found | cost)

    def rest(self, seconds: float) -> None:
        """Return the CPU of the server with idle sockets, in percent of a core."""
        cpu = cpu_seconds(self.server)
        time.sleep(seconds)
        self.idle = (cpu_seconds(self.server) - cpu) / seconds * 100

    def series(self, name: str) -> Series:
        return Series.of(run[name] for run in self.runs)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(10)
        for lease in self.leases:
            lease.emitter.close()

    def _wait_for(self, expected: int) -> dict[str, float]:
        """Return what has arrived, once all has or after a timeout."""
        total: dict[str, float] = {"events": 0, "p50": 0.0, "p99": 0.0, "closed": 0}
        for _ in range(10):
            time.sleep(SETTLE_SECONDS / 2)
            found = self._report()
            total["events"] += found["events"]
            total["closed"] = found["closed"]
            total["p50"], total["p99"] = max(total["p50"], found["p50"]), max(total["p99"], found["p99"])
            if total["events"] >= expected:
                break
        return total

    def _report(self) -> dict[str, float]:
        self._say("report")
        found: dict[str, float] = json.loads(self._hear())
        return found

    def _say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def _hear(self) -> str:
        assert self.process.stdout is not None
        return str(self.process.stdout.readline()).strip()


def pace(leases: list[Lease], each: int, rate: float) -> int:
    """Send `each` events to every turn, spread over the interval."""
    started, sent, wanted = time.monotonic(), 0, each * len(leases)
    while sent < wanted:
        due = int((time.monotonic() - started) * rate * len(leases)) + 1
        for _ in range(min(due, wanted) - sent):
            lease = leases[sent % len(leases)]
            lease.emitter.emit(Framed(ProseDelta("text", "p", f"@{time.monotonic_ns()} ")))
            sent += 1
        time.sleep(0.002)
    return sent


def our_places(stack: Stack, count: int) -> tuple[list[dict[str, Any]], list[Lease]]:
    """Open sockets of several users, each watching one running turn on as many as a user may have."""
    places, leases = [], []
    url = stack.url().replace("http", "ws", 1) + "/ws/chat/"
    for first in range(0, count, SOCKETS_PER_USER):
        user = User.objects.create(username=f"crowd{count}-{first}")
        lease = running_turn(user)
        headers = {"Authorization": f"Bearer {create_api_key(user, 'bench')}"}
        turn = Turn.objects.get(pk=lease.job_id)
        hello = {"type": "resume", "requestId": "r", "id": str(turn.session_id)}
        place = {"url": url, "headers": headers, "hello": json.dumps(hello)}
        places += [place] * min(SOCKETS_PER_USER, count - first)
        leases.append(lease)
    return places, leases


def bare_places(port: int, way: str, count: int) -> tuple[list[dict[str, Any]], list[Lease]]:
    places, leases = [], []
    for first in range(0, count, SOCKETS_PER_USER):
        lease = running_turn(None)
        place = {
            "url": f"ws://127.0.0.1:{port}/{way}/{event_log.stream_key(lease.job_id)}",
            "headers": {},
            "hello": "",
        }
        places += [place] * min(SOCKETS_PER_USER, count - first)
        leases.append(lease)
    return places, leases


def running_turn(user: User | None) -> Lease:
    lease = claimed_turn(new_session(user))
    lease.emitter.emit(Framed(StepStarted()))
    lease.emitter.emit(Framed(ProseStarted("text", "p")))
    lease.emitter.flush(5)
    return lease


def connections(stack: Stack) -> int:
    return len(redis.Redis(unix_socket_path=str(stack.socket)).client_list())
