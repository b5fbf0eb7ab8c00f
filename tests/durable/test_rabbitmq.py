"""Jobs on RabbitMQ when it times consumers out, raises an alarm, and when workers leave queues behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from pytest_django import Settings

from copilot_project import limits
from copilot_project.ops.checks import rabbitmq as checks
from tests.durable.conftest import OwnRedis, eventually
from tests.durable.testjobs.models import Chore
from tests.durable.workers import Site, Worker
from tests.harness import free_port
from tests.rabbitmq import CONSUMER_TIMEOUT_SECONDS, OwnRabbit, own_rabbitmq

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.chaos,
    pytest.mark.services,
    pytest.mark.timeout(600),
]
SECONDS = 120.0
NEVER = "100000"
PACE = 0.1


@pytest.fixture(scope="module")
def rabbitmq() -> Iterator[OwnRabbit]:
    with own_rabbitmq() as server:
        yield server


@pytest.fixture
def site(tmp_path: Path, own_redis: OwnRedis, rabbitmq: OwnRabbit) -> Iterator[Site]:
    made = Site(tmp_path, redis_url=own_redis.url, broker_url=rabbitmq.url)
    try:
        yield made
    finally:
        made.stop()
        rabbitmq.alarm(False)


def queue(**values: Any) -> Chore:
    return Chore.objects.create(status="queued", **values)


def has_ended(chore: Chore) -> bool:
    chore.refresh_from_db()
    return chore.is_terminal


def works_for(chore: Chore, seconds: float) -> None:
    """Wait until the chore has done the ticks of so many more seconds: time that passed for the worker too."""
    wanted = chore.done.count() + seconds / PACE
    eventually(lambda: chore.done.count() >= wanted, seconds=SECONDS, what="the chore goes on")


# --- consumer timeout -----------------------------------------------------------------------------


def test_a_worker_whose_threads_are_busy_outlives_the_consumer_timeout(site: Site) -> None:
    """Without a sweep that would hide it: what was poked runs because its message was received."""
    site.environment["COPILOT_SWEEP_SECONDS"] = NEVER
    worker = site.start(concurrency=2)
    long = queue(ticks=10_000, pace_seconds=PACE)
    other = queue(ticks=int(8 * CONSUMER_TIMEOUT_SECONDS / PACE), pace_seconds=PACE)
    for chore in (long, other):
        site.poke(chore)
        eventually(lambda chore=chore: chore.done.count(), seconds=SECONDS)  # type: ignore[misc]
    behind = [queue() for _ in range(4)]
    for chore in behind:
        site.poke(chore)
    for chore in (other, *behind):
        eventually(lambda chore=chore: has_ended(chore), seconds=SECONDS)  # type: ignore[misc]
        assert (chore.status, chore.attempt) == ("completed", 1)
    late = queue()
    site.poke(late)
    eventually(lambda: has_ended(late), seconds=SECONDS)
    assert not has_ended(long)
    assert "PRECONDITION_FAILED" not in worker.said()


def test_a_busy_worker_leaves_messages_to_others(site: Site) -> None:
    site.environment["COPILOT_SWEEP_SECONDS"] = NEVER
    site.start(concurrency=1)
    long = queue(ticks=10_000, pace_seconds=PACE)
    site.poke(long)
    eventually(lambda: long.done.count(), seconds=SECONDS)
    behind = [queue() for _ in range(3)]
    for chore in behind:
        site.poke(chore)
    works_for(long, 1.0)
    site.start(concurrency=1)
    for chore in behind:
        eventually(lambda chore=chore: has_ended(chore), seconds=SECONDS)  # type: ignore[misc]
    assert not has_ended(long)


# --- alarms ---------------------------------------------------------------------------------------


def test_an_alarm_of_the_broker_ends_no_worker_and_jobs_go_on(site: Site, rabbitmq: OwnRabbit) -> None:
    site.environment["TESTJOBS_LIMITS"] = "WATCHDOG_SECONDS=0.3"
    worker = site.start()
    long = queue(ticks=10_000, pace_seconds=PACE)
    eventually(lambda: long.done.count(), seconds=SECONDS)
    rabbitmq.alarm(True)
    works_for(long, 5.0)
    meanwhile = [queue() for _ in range(5)]
    for chore in meanwhile:
        eventually(lambda chore=chore: has_ended(chore), seconds=SECONDS)  # type: ignore[misc]
    assert worker.process.poll() is None, worker.said()
    rabbitmq.alarm(False)
    after = queue()
    eventually(lambda: has_ended(after), seconds=SECONDS)
    works_for(long, 5.0)
    assert worker.process.poll() is None, worker.said()
    assert (has_ended(long), long.attempt) == (False, 1)


# --- queues left behind ---------------------------------------------------------------------------


def test_killed_workers_leave_no_queue_behind(site: Site, rabbitmq: OwnRabbit) -> None:
    site.environment["TESTJOBS_LIMITS"] = "WATCHDOG_SECONDS=0.2"
    workers = [site.start(), site.start()]
    eventually(lambda: all(has_own_queue(worker, rabbitmq) for worker in workers), seconds=SECONDS)
    chore = queue()
    eventually(lambda: has_ended(chore), seconds=SECONDS)
    for worker in workers:
        worker.kill()
    eventually(
        lambda: rabbitmq.queues() == {Chore.queue}, seconds=SECONDS, what="only the shared queue is left"
    )


def has_own_queue(worker: Worker, rabbitmq: OwnRabbit) -> bool:
    return any(name.startswith(worker.name) for name in rabbitmq.queues())


# --- doctor -----------------------------------------------------------------------------------------


def test_doctor_tells_of_an_alarm_and_of_how_far_off_it_is(
    rabbitmq: OwnRabbit, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.CELERY_BROKER_URL = rabbitmq.url
    monkeypatch.setattr(checks, "app", Celery(broker=rabbitmq.url, set_as_current=False))
    monkeypatch.setattr(checks, "MANAGEMENT_PORT", rabbitmq.management_port)
    monkeypatch.setattr(limits, "CHECK_SECONDS", 3.0)
    assert checks.rabbitmq().ok
    assert "consumer_timeout" in checks.rabbitmq().message
    eventually(lambda: "MB of disk free" in checks.rabbitmq_limits().message, seconds=SECONDS)
    rabbitmq.alarm(True)
    try:
        found = checks.rabbitmq()
        assert not found.ok
        assert "memory or disk alarm" in found.message
        eventually(lambda: not checks.rabbitmq_limits().ok, seconds=SECONDS)
        assert "memory alarm" in checks.rabbitmq_limits().message
    finally:
        rabbitmq.alarm(False)
    monkeypatch.setattr(checks, "MANAGEMENT_PORT", free_port())
    unknown = checks.rabbitmq_limits()
    assert unknown.ok
    assert "unknown" in unknown.message
