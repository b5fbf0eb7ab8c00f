"""Waiting for a job: race-free, with a deadline, and always released."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from durable import event_log, limits
from durable.redis import client
from durable.stop_signal import StopReason, StopSignal
from durable.wait import wait_for
from tests.durable.conftest import OwnRedis, eventually
from tests.durable.testjobs.models import Chore

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
SECONDS = 120.0


@pytest.fixture
def only_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No looking from time to time: whoever is not rung waits until the end."""
    monkeypatch.setattr(limits, "STATUS_CHECK_SECONDS", 1_000.0)


def test_what_is_there_already_is_answered_at_once() -> None:
    assert wait_for(uuid.uuid4(), lambda: "there", seconds=SECONDS) == "there"


def test_an_answer_that_is_false_is_an_answer() -> None:
    assert wait_for(uuid.uuid4(), lambda: 0, seconds=SECONDS) == 0


def test_nothing_is_answered_when_the_time_is_over() -> None:
    looks: list[int] = []
    assert wait_for(uuid.uuid4(), lambda: looks.append(1), seconds=0.05) is None
    assert len(looks) >= 2


def test_no_time_is_one_look() -> None:
    assert wait_for(uuid.uuid4(), lambda: "there", seconds=0) == "there"
    assert wait_for(uuid.uuid4(), lambda: None, seconds=0) is None


@pytest.mark.usefixtures("only_rings")
def test_a_ring_between_subscribing_and_looking_is_not_missed() -> None:
    """The change and its ring come after the look has read the old state."""
    job_id, state = uuid.uuid4(), ["old"]

    def look() -> str | None:
        seen = state[0]
        if seen == "old":
            state[0] = "new"
            event_log.nudge(job_id)
        return seen if seen == "new" else None

    assert wait_for(job_id, look, seconds=SECONDS) == "new"


@pytest.mark.usefixtures("only_rings")
def test_only_what_matters_is_worth_a_look() -> None:
    job_id, looks, heard = uuid.uuid4(), [0], list[str | None]()

    def look() -> bool | None:
        looks[0] += 1
        if looks[0] == 1:
            for number in range(5):
                client().publish(event_log.stream_key(job_id), f"1-{number} 0-0 noise")
            client().publish(event_log.stream_key(job_id), "1-9 0-0 end")
        return looks[0] > 1 or None

    def matters(payload: str | None) -> bool:
        heard.append(payload)
        return bool(payload and payload.endswith("end"))

    assert wait_for(job_id, look, seconds=SECONDS, matters=matters)
    assert (looks[0], len(heard)) == (2, 6)


@pytest.mark.usefixtures("only_rings")
def test_a_nudge_is_worth_a_look_whatever_matters() -> None:
    job_id, looks = uuid.uuid4(), [0]

    def look() -> bool | None:
        looks[0] += 1
        event_log.nudge(job_id)
        return looks[0] > 1 or None

    assert wait_for(job_id, look, seconds=SECONDS, matters=lambda payload: False)


@pytest.mark.usefixtures("only_rings")
def test_the_end_of_a_job_wakes_whoever_waits_for_it() -> None:
    from durable import jobs

    chore = Chore.objects.create(status="queued")
    looked = threading.Event()

    def look() -> str | None:
        found = Chore.objects.get(pk=chore.pk)
        looked.set()
        return found.status if found.is_terminal else None

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(closing, lambda: wait_for(chore.pk, look, seconds=SECONDS))
        assert looked.wait(SECONDS)
        lease = jobs.claim(Chore, chore.pk, owner="a")
        assert lease is not None
        lease.finish(Chore.COMPLETED)
        assert waiting.result(SECONDS) == "completed"


@pytest.mark.usefixtures("only_rings")
def test_a_stop_signal_ends_the_wait() -> None:
    stop = StopSignal()
    looked = threading.Event()

    def look() -> None:
        looked.set()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait_for, uuid.uuid4(), look, seconds=SECONDS, stop=stop)
        assert looked.wait(SECONDS)
        stop.set(StopReason.CANCELLED)
        assert waiting.result(SECONDS) is None
    assert wait_for(uuid.uuid4(), lambda: None, seconds=SECONDS, stop=stop) is None
    assert not stop._callbacks


def test_no_database_connection_is_held_while_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STATUS_CHECK_SECONDS", 0.01)
    closed: list[bool] = []

    def look() -> str | None:
        closed.append(connection.connection is None)
        Chore.objects.exists()
        return "done" if len(closed) == 3 else None

    assert wait_for(uuid.uuid4(), look, seconds=SECONDS) == "done"
    assert closed[1:] == [True, True]


def test_a_wait_inside_a_transaction_leaves_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    with transaction.atomic():
        chore = Chore.objects.create(status="queued")
        assert wait_for(chore.pk, lambda: None, seconds=0.05) is None
        assert Chore.objects.filter(pk=chore.pk).exists()
    assert Chore.objects.filter(pk=chore.pk).exists()


def test_without_redis_it_looks_from_time_to_time(
    own_redis: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REDIS_TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr(limits, "STATUS_CHECK_SECONDS", 0.05)
    own_redis.kill()
    looks: list[int] = []

    def look() -> str | None:
        looks.append(1)
        return "found" if len(looks) == 3 else None

    assert wait_for(uuid.uuid4(), look, seconds=SECONDS) == "found"


@pytest.mark.parametrize("end", ["times out", "fails", "is stopped"])
def test_two_hundred_waits_leave_nothing_behind(end: str) -> None:
    connections = len(client().client_list())
    stop = StopSignal()
    looked = threading.Semaphore(0)

    def look() -> None:
        looked.release()
        if end == "fails":
            raise ZeroDivisionError

    def wait() -> Any:
        seconds = 0.3 if end == "times out" else SECONDS
        return wait_for(uuid.uuid4(), look, seconds=seconds, stop=stop)

    with ThreadPoolExecutor(200) as pool:
        waits = [pool.submit(wait) for _ in range(200)]
        for _ in waits:
            assert looked.acquire(timeout=60)
        stop.set()
        failures = [wait.exception(60) for wait in waits]
    assert all(isinstance(failure, ZeroDivisionError) == (end == "fails") for failure in failures)
    eventually(lambda: not [name for name in client().pubsub_channels() if ":events:" in name])
    assert len(client().client_list()) <= connections + 1
    assert not stop._callbacks


def closing(work: Any) -> Any:
    """A thread's own database connection ends with its work."""
    try:
        return work()
    finally:
        connection.close()
