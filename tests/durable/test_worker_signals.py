"""Jobs in real Celery workers that are killed, frozen and asked to leave, on a broker that goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from kombu.exceptions import OperationalError as BrokerDown

from durable import event_log, jobs, limits, watchdog
from durable.models import WorkerBeat
from tests.durable.conftest import OwnRedis, eventually
from tests.durable.readers import text_of
from tests.durable.testjobs.models import Chore
from tests.durable.workers import Site, Worker
from tests.needs import RABBITMQ, rabbitmq_control, require

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.chaos, pytest.mark.timeout(600)]
SECONDS = 120.0
NEVER = "100000"
RESTARTS = int(os.environ.get("COPILOT_TEST_RESTARTS", "5"))
MakeSite = Callable[..., Site]


@pytest.fixture
def make_site(tmp_path: Path, make_redis: Callable[..., OwnRedis]) -> Iterator[MakeSite]:
    sites: list[Site] = []

    def make(**environment: str) -> Site:
        server = make_redis()
        sites.append(Site(tmp_path, redis_url=server.url, **environment))
        sites[-1].redis = server  # type: ignore[attr-defined]
        return sites[-1]

    yield make
    for site in sites:
        site.stop()


@pytest.fixture
def rabbit() -> Iterator[str]:
    """A virtual host of one test."""
    require(RABBITMQ)
    name = f"ratchet-{uuid.uuid4().hex[:8]}"
    control("add_vhost", name)
    control("set_permissions", "-p", name, "guest", ".*", ".*", ".*")
    yield name
    control("delete_vhost", name)


def control(*words: str) -> None:
    subprocess.run([rabbitmq_control(), *words], check=True, capture_output=True, timeout=60)


def queue(**values: Any) -> Chore:
    return Chore.objects.create(status="queued", **values)


def status(chore: Chore) -> str:
    chore.refresh_from_db()
    return chore.status


def finished(chore: Chore) -> Callable[[], bool]:
    return lambda: status(chore) == "completed"


def ticks(chore: Chore) -> list[int]:
    return list(chore.done.order_by("pk").values_list("number", flat=True))


def is_whole(chore: Chore) -> None:
    """Every tick once and in order, one end, and a log that says the same."""
    assert status(chore) == "completed"
    assert ticks(chore) == list(range(chore.ticks))
    assert chore.calls.filter(hook="ended").count() == 1
    assert text_of(event_log.stored(chore.pk)) == "".join(f"{n} " for n in range(chore.ticks)) + "end"


def take_over(chore: Chore, *, after: float, attempt: int = 2) -> None:
    """Wait for the next attempt and say how long it took; the promise is lease + 2 s."""
    eventually(lambda: status(chore) and chore.attempt >= attempt, seconds=SECONDS, what="taken over")
    print(f"taken over {time.monotonic() - after:.2f} s after the fault")


def run_at_one_of_two(site: Site, ticks_to_do: int = 80) -> tuple[Chore, Worker, Worker]:
    """A job under way, the worker that runs it and one that could."""
    workers = [site.start(), site.start()]
    chore = queue(ticks=ticks_to_do, pace_seconds=0.05)
    for _ in range(3):
        site.poke(chore)
    eventually(lambda: len(ticks(chore)) > 3, seconds=SECONDS)
    status(chore)
    first, second = sorted(workers, key=lambda worker: f":{worker.process.pid}:" not in chore.owner)
    return chore, first, second


# --- pokes --------------------------------------------------------------------------------------


def test_a_poke_runs_a_job_and_a_doubled_poke_runs_it_once(make_site: MakeSite) -> None:
    site = make_site(COPILOT_SWEEP_SECONDS=NEVER)
    site.start()
    chores = [queue(ticks=3, pace_seconds=0.02) for _ in range(5)]
    for _ in range(5):
        for chore in chores:
            site.poke(chore)
    for chore in chores:
        eventually(finished(chore), seconds=SECONDS)
        site.poke(chore)
    for chore in chores:
        is_whole(chore)
        assert chore.attempt == 1
    late = queue()
    site.poke(late)
    eventually(finished(late), seconds=SECONDS)
    assert {chore.attempt for chore in Chore.objects.all()} == {1}


def test_a_job_that_nobody_poked_is_found_by_the_sweep(make_site: MakeSite) -> None:
    chore = queue()
    make_site().start()
    eventually(finished(chore), seconds=SECONDS)
    is_whole(chore)


def test_a_cancel_reaches_a_job_in_any_pool(make_site: MakeSite) -> None:
    site = make_site()
    for pool in ("threads", "prefork"):
        worker = site.start(pool=pool, concurrency=2)
        chore = queue(ticks=10_000, pace_seconds=0.05)
        eventually(lambda chore=chore: ticks(chore), seconds=SECONDS)  # type: ignore[misc]
        assert jobs.request_cancel(Chore, chore.pk)
        eventually(lambda chore=chore: status(chore) == "cancelled", seconds=SECONDS)  # type: ignore[misc]
        assert chore.attempt == 1
        assert "Traceback" not in worker.said()
        worker.kill()


# --- deaths -------------------------------------------------------------------------------------


def test_a_job_of_a_killed_worker_is_taken_over_and_nothing_is_done_twice(make_site: MakeSite) -> None:
    site = make_site()
    chore, first, second = run_at_one_of_two(site)
    first.kill()
    take_over(chore, after=time.monotonic())
    eventually(finished(chore), seconds=SECONDS)
    is_whole(chore)
    assert (chore.attempt, chore.crashes) == (2, 1)
    assert second.process.poll() is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells that a process is dead")
@pytest.mark.parametrize("alone", [False, True], ids=["a neighbour goes on", "the next one goes on"])
def test_on_one_machine_nobody_waits_for_the_lease_of_a_killed_worker(
    make_site: MakeSite, alone: bool
) -> None:
    """The lease is far longer than the test may take."""
    site = make_site(COPILOT_LEASE_SECONDS="3600", COPILOT_HEARTBEAT_SECONDS="1")
    chore, first, second = run_at_one_of_two(site)
    if alone:
        second.kill()
    first.kill()
    killed_at = time.monotonic()
    if alone:
        site.start()
    take_over(chore, after=killed_at)
    eventually(finished(chore), seconds=SECONDS)
    is_whole(chore)
    assert (chore.attempt, chore.crashes) == (2, 1)


def test_a_job_that_kills_its_workers_ends_as_worker_lost(make_site: MakeSite) -> None:
    site = make_site(COPILOT_LEASE_SECONDS="1", COPILOT_HEARTBEAT_SECONDS="0.3")
    chore = queue(ticks=10_000, pace_seconds=0.05, crashes=limits.MAX_ATTEMPTS - 2)
    for attempt in (1, 2):
        worker = site.start()
        eventually(lambda a=attempt: status(chore) and chore.attempt == a, seconds=SECONDS)  # type: ignore[misc]
        worker.kill()
    site.start()
    eventually(lambda: status(chore) == "failed", seconds=SECONDS)
    assert chore.end_reason == "worker_lost"
    assert ticks(chore) == list(range(len(ticks(chore))))


def test_a_frozen_worker_that_comes_back_can_write_nothing_and_works_on(make_site: MakeSite) -> None:
    site = make_site(COPILOT_LEASE_SECONDS="2", COPILOT_HEARTBEAT_SECONDS="0.5")
    chore, zombie, other = run_at_one_of_two(site)
    zombie.signal(signal.SIGSTOP)
    take_over(chore, after=time.monotonic())
    zombie.signal(signal.SIGCONT)
    eventually(finished(chore), seconds=SECONDS)
    is_whole(chore)
    owners = chore.done.order_by("number").values_list("attempt", flat=True)
    assert list(owners) == sorted(owners)
    assert [entry.at.attempt for entry in event_log.stored(chore.pk)] == sorted(
        entry.at.attempt for entry in event_log.stored(chore.pk)
    )
    other.kill()
    late = queue()
    site.poke(late)
    eventually(finished(late), seconds=SECONDS)
    is_whole(late)


def test_a_worker_asked_to_leave_hands_its_job_over(make_site: MakeSite) -> None:
    """With a lease of an hour: what is taken over in time was given, not left to run out."""
    site = make_site(COPILOT_LEASE_SECONDS="3600")
    chore, first, _ = run_at_one_of_two(site)
    first.ask_to_leave()
    take_over(chore, after=time.monotonic())
    assert first.process.wait(SECONDS) == 0
    eventually(finished(chore), seconds=SECONDS)
    is_whole(chore)
    assert (chore.attempt, chore.crashes) == (2, 0)
    eventually(lambda: WorkerBeat.objects.count() == 1, what="the first has signed off")


# --- a broker that goes away --------------------------------------------------------------------


def test_jobs_run_while_the_broker_is_down_and_pokes_work_again_afterwards(make_site: MakeSite) -> None:
    site = make_site()
    worker = site.start()
    site.redis.kill()  # type: ignore[attr-defined]
    stranded = [queue(ticks=2) for _ in range(20)]
    for chore in stranded:
        eventually(finished(chore), seconds=SECONDS)
        is_whole(chore)
        assert chore.attempt == 1
    site.redis.start()  # type: ignore[attr-defined]
    later = queue()
    eventually(finished(later), seconds=SECONDS)
    assert worker.process.poll() is None


def test_a_worker_outlives_many_restarts_of_redis_and_goes_on_consuming(make_site: MakeSite) -> None:
    """Without a sweep that would hide it: each job runs only because its poke was received."""
    site = make_site(COPILOT_SWEEP_SECONDS=NEVER)
    worker = site.start()
    for _ in range(RESTARTS):
        running = queue(ticks=20, pace_seconds=0.02)
        poke_until(site, running, lambda running=running: ticks(running))  # type: ignore[misc]
        site.redis.restart()  # type: ignore[attr-defined]
        after = queue()
        poke_until(site, after, finished(after))
        eventually(finished(running), seconds=SECONDS)
        is_whole(running)
        assert (running.attempt, worker.process.poll()) == (1, None), worker.said()
    assert "Unrecoverable" not in worker.said()


def poke_until(site: Site, chore: Chore, look: Callable[[], object]) -> None:
    """A poke may be lost with a broker that was just started: poke again, as a sweep would."""

    def poke_and_look() -> object:
        with suppress(OSError, BrokerDown):
            site.poke(chore)
        deadline = time.monotonic() + 2
        while not (found := look()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found

    eventually(poke_and_look, seconds=SECONDS)


# --- the watchdog -------------------------------------------------------------------------------


def test_a_worker_that_hears_nothing_any_more_ends_itself_and_gives_its_job_back(
    make_site: MakeSite,
) -> None:
    site = make_site(TESTJOBS_LIMITS="WATCHDOG_SECONDS=0.5", COPILOT_LEASE_SECONDS="3600")
    worker = site.start()
    chore = queue(ticks=10_000, pace_seconds=0.05)
    site.poke(chore)
    eventually(lambda: ticks(chore), seconds=SECONDS)
    for name in (Chore.queue, f"{worker.name}.canary"):
        site.app().control.cancel_consumer(name, destination=[worker.name], reply=True, timeout=60)
    assert worker.process.wait(SECONDS) == 1
    assert "gets no messages any more" in worker.said()
    assert status(chore) == "running"
    assert (chore.owner, chore.lease_until) == ("", None)


def test_a_worker_whose_hands_are_full_is_left_alone_by_its_watchdog(make_site: MakeSite) -> None:
    site = make_site(TESTJOBS_LIMITS="WATCHDOG_SECONDS=0.2")
    worker = site.start(concurrency=1)
    chores = [queue(ticks=40, pace_seconds=0.1), *(queue(ticks=1) for _ in range(10))]
    for chore in chores:
        site.poke(chore)
    for chore in chores:
        eventually(finished(chore), seconds=SECONDS)
        assert chore.attempt == 1
    assert worker.process.poll() is None
    late = queue()
    site.poke(late)
    eventually(finished(late), seconds=SECONDS)


# --- what is left behind ------------------------------------------------------------------------


def test_the_queue_of_a_killed_worker_expires_in_redis(make_site: MakeSite) -> None:
    site = make_site(TESTJOBS_LIMITS="WATCHDOG_SECONDS=0.2")
    worker = site.start()
    chore = queue()
    eventually(finished(chore), seconds=SECONDS)
    worker.kill()
    site.app().send_task("durable.canary", queue=watchdog.own_queue(worker.name), retry=False)  # its last one
    server = site.redis.client()  # type: ignore[attr-defined]
    (left,) = server.scan_iter("*.canary")
    assert 0 < server.pttl(left) <= limits.CANARY_QUEUE_SECONDS * 1000
    bindings = {
        member for key in server.scan_iter("*_kombu.binding*", _type="set") for member in server.smembers(key)
    }
    assert not [member for member in bindings if "canary" in member]


# --- the same on RabbitMQ -----------------------------------------------------------------------


@pytest.mark.services
def test_on_rabbitmq_jobs_run_once_survive_a_kill_and_a_lost_connection(
    tmp_path: Path, own_redis: OwnRedis, rabbit: str
) -> None:
    site = Site(
        tmp_path,
        redis_url=own_redis.url,
        broker_url=f"amqp://guest:guest@127.0.0.1:5672/{rabbit}",
    )
    try:
        chore, first, second = run_at_one_of_two(site)
        first.kill()
        take_over(chore, after=time.monotonic())
        eventually(finished(chore), seconds=SECONDS)
        is_whole(chore)
        assert (chore.attempt, chore.crashes) == (2, 1)

        control("close_all_connections", "--vhost", rabbit, "for a test")
        after = queue()
        poke_until(site, after, finished(after))
        assert after.attempt == 1
        assert second.process.poll() is None
    finally:
        site.stop()


@pytest.mark.services
def test_on_rabbitmq_a_worker_hands_over_and_a_deaf_one_ends_itself(
    tmp_path: Path, own_redis: OwnRedis, rabbit: str
) -> None:
    site = Site(
        tmp_path,
        redis_url=own_redis.url,
        broker_url=f"amqp://guest:guest@127.0.0.1:5672/{rabbit}",
        COPILOT_LEASE_SECONDS="3600",
        TESTJOBS_LIMITS="WATCHDOG_SECONDS=0.5",
    )
    try:
        chore, first, second = run_at_one_of_two(
            site, ticks_to_do=300
        )  # longer than a busy machine needs to hand over and go deaf
        first.ask_to_leave()
        take_over(chore, after=time.monotonic())
        assert first.process.wait(SECONDS) == 0
        for name in (Chore.queue, f"{second.name}.canary"):
            site.app().control.cancel_consumer(name, destination=[second.name], reply=True, timeout=60)
        assert second.process.wait(SECONDS) == 1
        third = site.start()
        eventually(finished(chore), seconds=SECONDS)
        is_whole(chore)
        assert (chore.attempt, chore.crashes) == (3, 0)
        assert third.process.poll() is None
    finally:
        site.stop()
