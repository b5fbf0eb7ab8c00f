"""The small parts: stop signal, clock, ids, crash points, the background loop, things a process has one of."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import uuid
from concurrent.futures import CancelledError
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from durable import crashpoints, limits
from durable.clock import DatabaseClock
from durable.errors import DurableError, IllegalMove, LeaseLost
from durable.ids import new_id
from durable.per_process import PerProcess, background_loop, submit
from durable.publisher import poke
from durable.stop_signal import StopReason, StopSignal
from tests.durable.conftest import START, OwnRedis, eventually
from tests.durable.fixed_clock import FixedClock
from tests.durable.testjobs.models import Chore

SECONDS = 120.0


# --- stop signal --------------------------------------------------------------------------------


def test_the_first_reason_to_stop_stands() -> None:
    stop = StopSignal()
    assert not stop.is_set()
    assert not stop.wait(0)
    stop.set(StopReason.LOST)
    stop.set(StopReason.CANCELLED)
    assert stop.reason is StopReason.LOST
    assert stop.wait(0)


def test_callbacks_are_called_once_also_those_that_come_late_and_those_after_a_broken_one() -> None:
    called: list[str] = []
    stop = StopSignal()

    def broken() -> None:
        raise ZeroDivisionError

    stop.add_callback(broken)
    remove = stop.add_callback(lambda: called.append("removed"))
    stop.add_callback(lambda: called.append("early"))
    remove()
    remove()
    stop.set()
    stop.set()
    stop.add_callback(lambda: called.append("late"))()
    assert called == ["early", "late"]


# --- clock and ids ------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_clock_of_leases_is_the_databases() -> None:
    clock = DatabaseClock()
    chore = Chore.objects.create(status="queued")
    Chore.objects.update(started_at=clock.now(), run_at=clock.after(90), poked_at=clock.after(-30))
    chore.refresh_from_db()
    assert chore.started_at
    assert chore.run_at
    assert chore.poked_at
    assert abs(chore.started_at - timezone.now()) < timedelta(minutes=1)
    assert abs(chore.run_at - chore.started_at - timedelta(seconds=90)) < timedelta(seconds=5)
    assert Chore.objects.filter(run_at__gt=clock.now(), poked_at__lt=clock.now()).exists()
    assert Chore.objects.filter(run_at__lt=clock.after(100), run_at__gt=clock.after(60)).exists()


@pytest.mark.django_db
def test_a_fixed_clock_stands_still_until_it_is_moved() -> None:
    clock = FixedClock(START)
    chore = Chore.objects.create(status="queued")
    clock.advance(5)
    Chore.objects.update(started_at=clock.now(), run_at=clock.after(10))
    chore.refresh_from_db()
    assert (chore.started_at, chore.run_at) == (START + timedelta(seconds=5), START + timedelta(seconds=15))


def test_ids_are_uuids_of_version_7_and_sort_by_time_even_within_a_millisecond() -> None:
    ids = [new_id() for _ in range(1_000)]
    assert len(set(ids)) == 1_000
    assert {(one.version, one.variant) for one in ids} == {(7, uuid.RFC_4122)}
    moments = [one.int >> 64 for one in ids]
    assert moments == sorted(moments)
    assert len({one.int >> 80 for one in ids}) < len(set(moments))


def test_an_error_says_what_its_class_says_unless_told_otherwise() -> None:
    assert "Another attempt owns this job" in str(LeaseLost())
    assert str(IllegalMove("no")) == "no"
    assert isinstance(LeaseLost(), DurableError)


# --- crash points -------------------------------------------------------------------------------


def test_a_crash_point_kills_once_and_only_where_it_was_told_to(tmp_path: Path) -> None:
    marker = tmp_path / "crashed"
    code = "from durable.crashpoints import reached; reached('here'); reached('there'); print('alive')"

    def die(where: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"COPILOT_CRASH_AT": f"{where}:{marker}", "PYTHONPATH": str(Path.cwd())},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert die("elsewhere").stdout == "alive\n"
    assert die("there").returncode == -signal.SIGKILL
    assert die("there").stdout == "alive\n"


def test_no_other_thread_passes_a_crash_point_while_the_process_dies(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> None:
    settings.COPILOT_CRASH_AT = f"here:{tmp_path / 'crashed'}"
    dying, dead = threading.Event(), threading.Event()
    passed: list[str] = []

    def die_slowly(pid: int, how: int) -> None:
        assert (pid, how) == (os.getpid(), signal.SIGKILL)
        dying.set()
        dead.wait(SECONDS)

    def come(name: str) -> None:
        crashpoints.reached("here")
        passed.append(name)

    monkeypatch.setattr(os, "kill", die_slowly)
    threads = [threading.Thread(target=come, args=(name,)) for name in ("first", "second")]
    threads[0].start()
    assert dying.wait(SECONDS)
    threads[1].start()
    threads[1].join(0.2)
    assert passed == []
    dead.set()
    for thread in threads:
        thread.join(SECONDS)


def test_without_being_told_a_crash_point_does_nothing(settings: Settings) -> None:
    settings.COPILOT_CRASH_AT = ""
    crashpoints.reached("here")


def test_only_the_table_of_variables_is_asked_where_to_crash(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> None:
    settings.COPILOT_CRASH_AT = ""
    monkeypatch.setenv("COPILOT_CRASH_AT", f"here:{tmp_path}/crashed")
    crashpoints.reached("here")


# --- loop and process ---------------------------------------------------------------------------


def test_a_coroutine_runs_on_the_background_loop_and_answers() -> None:
    async def where() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    assert submit(where()).result(SECONDS) is background_loop()


def test_a_coroutine_whose_future_is_cancelled_ends() -> None:
    begun, ended = threading.Event(), threading.Event()

    async def hang() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    future = submit(hang())
    assert begun.wait(SECONDS)
    future.cancel()
    assert ended.wait(SECONDS)


def test_a_coroutine_nobody_holds_on_to_is_not_forgotten() -> None:
    """A loop holds its tasks weakly: one that waits for itself alone would be collected."""
    state: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            state.append("cancelled")
            raise
        except GeneratorExit:
            state.append("collected")
            raise

    future = submit(wait())
    waiting = id(future)
    del future
    for _ in range(3):
        gc.collect()
    assert state == []
    from durable.per_process import _thread

    (again,) = [one for one in _thread().futures if id(one) == waiting]
    again.cancel()
    with pytest.raises(CancelledError):
        again.result(SECONDS)
    eventually(lambda: state == ["cancelled"])


def test_a_process_makes_its_thing_once_and_a_child_its_own_even_when_the_lock_was_held() -> None:
    made: list[int] = []
    gate = threading.Barrier(10)

    def make() -> int:
        made.append(os.getpid())
        return os.getpid()

    thing = PerProcess(make)

    def use() -> None:
        gate.wait(SECONDS)
        thing()

    threads = [threading.Thread(target=use) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert made == [os.getpid()]

    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    with thing._lock:
        child = context.Process(target=lambda: answers.put(thing() == os.getpid()))
        child.start()
        assert answers.get(timeout=SECONDS)
        child.join(SECONDS)


@pytest.mark.django_db(transaction=True)
def test_a_forked_child_has_a_database_connection_of_its_own() -> None:
    chore = Chore.objects.create(status="queued")
    connection.ensure_connection()
    mine = id(connection.connection)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def look() -> None:
        answers.put((connection.connection is None, Chore.objects.filter(pk=chore.pk).exists()))
        connection.close()

    child = context.Process(target=look)
    child.start()
    assert answers.get(timeout=SECONDS) == (True, True)
    child.join(SECONDS)
    assert id(connection.connection) == mine
    assert Chore.objects.filter(pk=chore.pk).exists()


# --- poke ---------------------------------------------------------------------------------------


def test_a_poke_the_broker_takes_is_true(redis_server: object) -> None:
    assert poke(Chore, uuid.uuid4())


@pytest.mark.django_db
def test_a_poke_that_fails_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object, **values: object) -> None:
        raise AttributeError("a fault of the transport")

    monkeypatch.setattr("durable.publisher.Sender.send", broken)
    assert not poke(Chore, uuid.uuid4())
    assert "a fault of the transport" in caplog.text


@pytest.mark.django_db
def test_a_poke_at_a_broker_that_is_down_says_so(
    own_redis: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    from celery import Celery
    from django.conf import settings

    app = Celery(broker=own_redis.url.replace("unix://", "redis+socket://", 1), set_as_current=False)
    app.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    monkeypatch.setattr("durable.publisher.current_app", app)
    monkeypatch.setattr(limits, "BROKER_PAUSE_SECONDS", 0.0)  # the next one tries again at once
    assert poke(Chore, uuid.uuid4())
    own_redis.kill()
    assert not poke(Chore, uuid.uuid4())
    own_redis.start()
    assert poke(Chore, uuid.uuid4())
