"""Faults of RabbitMQ: F23 alarms, F24 consumer timeout, F25 silent broker, F29 more turns than threads."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from celery import Celery

from benchmarks.chaos.deployment import (
    expect_no_takeover,
    expect_same_workers,
    production,
    takeovers,
)
from benchmarks.chaos.field import Field
from benchmarks.chaos.scenario import scenario
from benchmarks.side_by_side import Series, number
from tests.harness import eventually

WATCHDOG_PATIENCE_SECONDS = 45.0  # longer than a watchdog waits for its canaries


@scenario("F23", "RabbitMQ: memory alarm, then disk alarm", on_production=True)
def broker_alarm(field: Field) -> None:
    """Block publishing for longer than the watchdog waits: no worker dies, and turns still run."""
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


@scenario("F24", "RabbitMQ: consumer timeout of a minute, all threads busy", on_production=True)
def consumer_timeout(field: Field) -> None:
    """Let fetched messages wait behind busy threads for longer than the timeout: no worker stops consuming."""
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


@scenario("F29", "2,000 queued turns: the broker holds few messages")
def crowd(field: Field) -> None:
    """Stall all running turns for a while: those waiting behind them must not fill the broker."""
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
    """Return the maximum length of the queue of turns."""

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
