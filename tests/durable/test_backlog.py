"""More jobs than the workers can take: the broker holds few messages, and every job that may start is run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.conf import settings
from django.utils import timezone

from durable import limits
from durable.publisher import messages_in, poke
from tests.durable.conftest import OwnRedis, eventually
from tests.durable.testjobs.models import Chore
from tests.durable.workers import Site
from tests.services import new_broker

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.chaos,
    pytest.mark.timeout(900),
]
JOBS = int(os.environ.get("COPILOT_TEST_QUEUED_JOBS", "500"))
THREADS = 16
LEASE = {
    "COPILOT_LEASE_SECONDS": "60",
    "COPILOT_HEARTBEAT_SECONDS": "5",
}  # a slow machine is no death
SECONDS = 0.4 * JOBS + 60.0


@pytest.fixture(params=["redis", pytest.param("rabbitmq", marks=pytest.mark.services)])
def site(request: pytest.FixtureRequest, tmp_path: Path, own_redis: OwnRedis) -> Iterator[Site]:
    if request.param == "redis":
        made = Site(tmp_path, redis_url=own_redis.url, **LEASE)
        yield made
        made.stop()
        return
    with new_broker() as url:
        made = Site(tmp_path, redis_url=own_redis.url, broker_url=url, **LEASE)
        yield made
        made.stop()


@pytest.fixture
def depth(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Let this process poke as a web process of the site does; answers how many messages wait."""
    app: Any = Celery(broker=site.broker_url, set_as_current=False, amqp="copilot_project.broker:Pokes")
    is_redis = site.broker_url.startswith("redis")
    app.conf.broker_transport_options = (
        settings.CELERY_BROKER_TRANSPORT_OPTIONS if is_redis else {"max_retries": 0}
    )
    monkeypatch.setattr("durable.publisher.current_app", app)
    with app.connection_for_write() as connection, connection.Producer() as producer:
        yield lambda: messages_in(producer, Chore.queue)
    app.close()


def test_a_backlog_leaves_few_messages_in_the_broker_and_ends(site: Site, depth: Callable[[], int]) -> None:
    """A fifth of the jobs may not start, as those of a user who has reached a limit; they stand in nobody's way."""
    workers = [site.start(concurrency=THREADS) for _ in range(3)]
    deepest = 0
    blocked, now = range(0, JOBS, 5), timezone.now()
    chores = [
        Chore(status="queued", poked_at=now, ticks=1, pace_seconds=0.3, blocked=number in blocked)
        for number in range(JOBS)
    ]
    for chore in Chore.objects.bulk_create(chores):
        poke(Chore, chore.pk)
        deepest = max(deepest, depth())

    def look() -> bool:
        nonlocal deepest
        deepest = max(deepest, depth())
        return not Chore.objects.filter(blocked=False).exclude(status="completed").exists()

    eventually(look, seconds=SECONDS, what="every job that may start has ended")
    print(f"{JOBS} jobs, at most {deepest} messages waited")
    assert deepest <= 2 * len(workers) * THREADS
    assert set(Chore.objects.filter(blocked=False).values_list("attempt", flat=True)) == {1}
    Chore.objects.update(blocked=False)
    eventually(look, seconds=SECONDS, what="those that were blocked have ended too")
    eventually(lambda: not depth(), seconds=limits.POKE_LIFETIME_SECONDS + 30, what="nothing is left over")
    assert all(worker.process.poll() is None for worker in workers)
