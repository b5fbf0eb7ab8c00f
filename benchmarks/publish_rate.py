"""400 turns of 50 events a second through one writer: how many get through, how late, on how many connections."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import redis

from benchmarks.listener import LAST, STAMP
from benchmarks.side_by_side import Report, Series, Size, at_least, at_most
from chat.events import ProseDelta
from chat.protocol import Framed
from durable import event_log
from durable.emitter import Emitter
from durable.event_log import START
from durable.ids import new_id
from durable.writer import writer
from tests.harness import ROOT, Stack

TITLE = "one writer, one Redis connection; lag from emit to another process that listens to some of them"
EVENTS_PER_SECOND = 50
SAMPLES = 20  # turns that are listened to: more would measure the listener


@dataclass(frozen=True, kw_only=True)
class Figures:
    offered: int
    rate: float
    written: int
    p50: float
    p99: float
    connections: int
    cpu: float


def run(stack: Stack, size: Size, report: Report) -> None:
    turns, seconds = size.pick(20, 400, 400), size.pick(0.5, 2.0, 4.0)
    wanted = turns * EVENTS_PER_SECOND
    measure(stack, 10, 0.5)  # connections and caches
    runs = [measure(stack, turns, seconds) for _ in range(size.repetitions)]
    report.add("events per second", "", Series.of(one.rate for one in runs), goal=at_least(0.99 * wanted))
    report.add("lag p50", "ms", Series.of(one.p50 for one in runs))
    report.add("lag p99", "ms", Series.of(one.p99 for one in runs), goal=at_most(10))
    report.add("lost events", "", Series.of(one.offered - one.written for one in runs), goal=at_most(0))
    report.add(
        "Redis connections of the writer", "", Series.of(one.connections for one in runs), goal=at_most(1)
    )
    report.add("CPU per event, pacing included", "us", Series.of(one.cpu for one in runs))
    report.remark(f"{turns} turns x {EVENTS_PER_SECOND}/s = {wanted:,}/s offered for {seconds:g} s")


def measure(stack: Stack, turns: int, seconds: float) -> Figures:
    emitters = [Emitter(new_id(), 1, after=START, wake=writer().wake) for _ in range(turns)]
    names = [event_log.stream_key(emitter.job_id) for emitter in emitters]
    listener = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.listener", str(stack.socket), *names[:: max(1, turns // SAMPLES)]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert listener.stdout is not None
    listener.stdout.readline()
    cpu = time.process_time()
    offered, spent = pace(emitters, seconds)
    used = time.process_time() - cpu
    for emitter in emitters:
        emitter.flush(5)
    emitters[0].emit(Framed(ProseDelta("text", "p", LAST)))
    heard: dict[str, Any] = json.loads(listener.communicate(timeout=60)[0])
    return Figures(
        offered=offered,
        rate=offered / spent,
        written=written(stack, names),
        p50=heard["p50"],
        p99=heard["p99"],
        connections=connections(stack),
        cpu=used / offered * 1e6,
    )


def pace(emitters: list[Emitter], seconds: float) -> tuple[int, float]:
    """Emit an event per turn every 20 ms, spread over the interval as those of real turns are."""
    started = time.monotonic()
    sent, wanted = 0, int(len(emitters) * EVENTS_PER_SECOND * seconds)
    while sent < wanted:
        due = int((time.monotonic() - started) * len(emitters) * EVENTS_PER_SECOND)
        for _ in range(min(due, wanted) - sent):
            stamp = f"@{time.monotonic_ns()} "
            emitters[sent % len(emitters)].emit(Framed(ProseDelta("text", "p", stamp)))
            sent += 1
        time.sleep(0.001)
    return sent, time.monotonic() - started


def written(stack: Stack, names: list[str]) -> int:
    """Return the number of events in the logs, counting each part of merged ones."""
    client: Any = redis.Redis(unix_socket_path=str(stack.socket), decode_responses=True)
    return sum(len(STAMP.findall(fields["e"])) for name in names for _, fields in client.xrange(name))


def connections(stack: Stack) -> int:
    """Return the number of connections besides those of the listener and of this query."""
    rows = redis.Redis(unix_socket_path=str(stack.socket)).client_list()
    return sum(row["sub"] == "0" and row["psub"] == "0" for row in rows) - 1
