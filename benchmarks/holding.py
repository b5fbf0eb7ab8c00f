"""How many turns one worker process can stream at once before a new one has to wait, and the memory of each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
from django.conf import settings
from django.db.models import F

from benchmarks.conversations import new_session, person, queued_turn, script
from benchmarks.side_by_side import Report, Series, Size, at_least, at_most, cpu_seconds, resident_megabytes
from chat import turns
from chat.models import Turn
from durable import event_log
from tests.harness import START_SECONDS, Stack, eventually

TITLE = "turns of 50 events/s in one worker process (threads), offline model and Redis on the same machine"
EVENT_SECONDS = 0.02
START_APART_SECONDS = 0.02
THREADS = 600
SLOWER = 2.0  # a new turn's first event may take this many times as long as on an idle worker
STRETCH = 1.1  # and the answers this much longer than the model takes
LOST = 1.5  # beyond this a larger number would show nothing new
WINDOW_SECONDS = 2.0
PROBE_PAUSE_SECONDS = 0.15  # a probe is a whole turn: back to back they would be the load


def run(stack: Stack, size: Size, report: Report) -> None:
    stack.start_model()
    worker = start_worker(stack)
    probes, seconds = size.pick(3, 12, 40), size.pick(4.0, 7.0, 15.0)
    first_events(size.pick(1, 5, 5))  # imports and connections
    idle = first_events(probes)
    limit = SLOWER * idle.quantile(0.99)
    report.add("first event on an idle worker, p99", "ms", idle.quantile(0.99))
    held, memory = 0, [(0, resident_megabytes(worker))]
    for count in size.pick((4, 8), (16, 64, 128), (16, 32, 64, 96, 128, 192, 256)):
        with streaming(count, seconds + count * START_APART_SECONDS) as background:
            each = cpu_per_event(worker, count)
            found = first_events(probes)
            memory.append((count, resident_megabytes(worker)))
        stretch = stretched(background, seconds + count * START_APART_SECONDS)
        p99 = found.quantile(0.99)
        good = p99 <= limit and stretch <= STRETCH
        report.add(
            f"first event beside {count} streaming turns, p99", "ms", p99, Series.of([idle.quantile(0.99)])
        )
        report.remark(
            f"{count} turns: {each:.0f} us of the worker's CPU per event, "
            f"{EVENT_SECONDS / each * 1e6:.0f} turns would fill a core; "
            f"answers took {stretch:.2f}x the model's time; {'held' if good else 'not held'}"
        )
        held = count if good else held
        if stretch > LOST:
            break
    report.add("turns held", "", held, goal=at_least(128))
    report.add("memory per streaming turn", "MB", slope(memory), goal=at_most(0.2))


def start_worker(stack: Stack) -> int:
    """Start one worker with a thread per turn, as `up` does, but with more threads."""
    process = stack.launch(
        "worker0", "-m", "celery", "-A", "copilot_project", "worker", "-P", "threads", "-c", str(THREADS),
        "-Q", "turns", "-n", "hold@bench", "-l", "WARNING", "--without-gossip", "--without-mingle",
    )  # fmt: skip
    warm = turns.submit(new_session(), turns.Input(text=script({"text": "warm"}))).turn
    eventually(
        lambda: Turn.objects.filter(pk=warm.pk, status=Turn.COMPLETED).exists(),
        seconds=START_SECONDS,
        what="a worker",
    )
    return process.pid


def cpu_per_event(worker: int, count: int) -> float:
    """Return microseconds of worker CPU per streamed event."""
    cpu, started = cpu_seconds(worker), time.monotonic()
    time.sleep(WINDOW_SECONDS)
    used = (cpu_seconds(worker) - cpu) / (time.monotonic() - started)
    return used / count * EVENT_SECONDS * 1e6


def first_events(count: int) -> Series:
    """Return milliseconds from the poke to the first event in the log, one turn after another."""
    client: Any = redis.Redis.from_url(settings.REDIS_URL, decode_responses=True)
    return Series.of(first_event(client) for _ in range(count))


def first_event(client: Any) -> float:
    turn = queued_turn(new_session(), script({"chunks": 2}))
    with client.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(event_log.stream_key(turn.pk))
        listening.get_message(timeout=1)
        started = time.perf_counter()
        turns.start(turn)
        while time.perf_counter() - started < 30:
            message = listening.get_message(timeout=5)
            if message is not None and '"text-delta"' in message["data"]:
                break
        spent = time.perf_counter() - started
    eventually(
        lambda: Turn.objects.filter(pk=turn.pk, status__in=Turn.TERMINAL).exists(), what="the probe's end"
    )
    time.sleep(PROBE_PAUSE_SECONDS)
    return spent * 1000


@contextmanager
def streaming(count: int, seconds: float) -> Iterator[list[Turn]]:
    """Run this many streaming turns: all have started inside the block, and ended after it."""
    user = person("busy")
    text = script({"chunks": int(seconds / EVENT_SECONDS), "delay": EVENT_SECONDS})
    started = []
    for _ in range(count):
        turn = queued_turn(new_session(user), text)
        turns.start(turn)
        started.append(turn)
        time.sleep(START_APART_SECONDS)
    ids = [turn.pk for turn in started]
    eventually(lambda: not Turn.objects.filter(pk__in=ids, started_at=None).exists(), what="all turns")
    yield started
    eventually(
        lambda: not Turn.objects.filter(pk__in=ids).exclude(status__in=Turn.TERMINAL).exists(),
        seconds=seconds * 5 + 30,
        what="the end of all turns",
    )


def stretched(started: list[Turn], seconds: float) -> float:
    """Return the median ratio of the duration of answers to that of the model."""
    spans = Turn.objects.filter(pk__in=[turn.pk for turn in started]).values_list(
        F("ended_at") - F("started_at")
    )
    return Series.of(span.total_seconds() for (span,) in spans).median / seconds


def slope(points: list[tuple[int, float]]) -> float:
    """Return megabytes per turn between the first and the last level, which leaves out what is loaded once."""
    busy = points[1:] if len(points) > 2 else points
    (low, before), (high, after) = busy[0], busy[-1]
    return max(0.0, (after - before) / (high - low))
