"""Waiting for an execution: it hears the end, ends early at a review, holds its deadline, and leaves nothing behind."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from durable import event_log
from durable.redis import client
from durable.stop_signal import StopSignal
from executions.models import Execution
from executions.wait import wait_for_execution
from tests.executions.conftest import fresh, work_on

threaded = pytest.mark.django_db(transaction=True)
Make = Callable[..., Execution]
ONE = {"a": ("Store Value", {"input": 1})}


def watched() -> int:
    """How many channels of jobs anybody listens to."""
    return len(
        client().pubsub_channels(event_log.stream_key(uuid.UUID(int=0)).replace(str(uuid.UUID(int=0)), "*"))
    )


def connections() -> int:
    return len(client().client_list())


def eventually(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@threaded
def test_a_wait_ends_when_the_execution_does(execution_of: Make) -> None:
    execution = execution_of(ONE)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait, execution.pk, 60.0)
        eventually(lambda: watched() == 1)
        work_on(execution)
        assert waiting.result(10).status == "COMPLETED"


@threaded
def test_a_wait_ends_when_a_person_is_asked(execution_of: Make) -> None:
    execution = execution_of({"ask": ("Human In The Loop", {"data": 1, "name": "n"})})
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait, execution.pk, 60.0)
        eventually(lambda: watched() == 1)
        work_on(execution)
        assert waiting.result(10).public_status == "REVIEW"


@threaded
def test_a_wait_holds_its_deadline_and_answers_how_it_stands(execution_of: Make) -> None:
    execution = execution_of(ONE)
    assert wait_for_execution(execution.pk, 0.05).status == "QUEUED"
    assert wait_for_execution(execution.pk, 0).status == "QUEUED"
    with pytest.raises(Execution.DoesNotExist):
        wait_for_execution(uuid.uuid4(), 1.0)


@threaded
def test_200_waits_that_time_out_fail_or_are_cancelled_leave_nothing_behind(execution_of: Make) -> None:
    execution = execution_of(ONE)
    wait_for_execution(execution.pk, 0.01)  # the hub's own connection is opened once and stays
    eventually(lambda: watched() == 0)
    before = connections()
    stop = StopSignal()

    def one(number: int) -> str:
        match number % 3:
            case 0:
                return wait(execution.pk, 0.2).status
            case 1:
                return wait(execution.pk, 60.0, stop).status
            case _:
                with pytest.raises(Execution.DoesNotExist):
                    wait(uuid.uuid4(), 60.0)
                return "gone"

    with ThreadPoolExecutor(50) as pool:
        threading.Timer(1.0, stop.set).start()
        ends = list(pool.map(one, range(200)))
    assert {end: ends.count(end) for end in set(ends)} == {"QUEUED": 134, "gone": 66}
    eventually(lambda: watched() == 0)
    assert connections() <= before
    assert fresh(execution).status == "QUEUED"


def wait(execution_id: uuid.UUID, seconds: float, stop: StopSignal | None = None) -> Execution:
    try:
        return wait_for_execution(execution_id, seconds, stop)
    finally:
        connection.close()
