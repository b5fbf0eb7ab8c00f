"""The pace of the sweep: every round while jobs move, rarely at rest, at once when somebody asks or dies."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from durable import limits, liveness, pauses, sweep
from durable.models import Pause, WorkerBeat
from durable.runtime import Runtime
from durable.sweep import SweepPace, SweepState
from tests.durable.conftest import eventually
from tests.durable.testjobs.models import Chore

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """One that is known to the others and whose rounds the test does."""
    monkeypatch.setattr(Runtime, "start_threads", lambda self: None)
    made = Runtime()
    made.queues = frozenset({"chores"})
    made._beat()
    return made


@pytest.fixture
def sweeps(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each sweep of the runtime."""
    counted: list[int] = []
    real = runtime._sweep

    def sweep() -> None:
        counted.append(1)
        real()

    monkeypatch.setattr(runtime, "_sweep", sweep)
    return counted


def turn_rounds(runtime: Runtime, count: int) -> None:
    for _ in range(count):
        runtime._sweep_or_poke()


def come_to_rest(runtime: Runtime, sweeps: list[int]) -> None:
    turn_rounds(runtime, 3 * limits.REST_ROUNDS)
    while not sweeps or runtime._pace._left:
        turn_rounds(runtime, 1)
    turn_rounds(runtime, 1)
    sweeps.clear()


def test_the_rounds_between_two_sweeps_double_at_rest_and_are_none_while_jobs_move() -> None:
    pace, swept_in = SweepPace(), []
    for number in range(16):
        if pace.wants_sweep():
            swept_in.append(number)
            pace.swept(at_rest=True)
    assert swept_in == [0, 2, 6, 10, 14]
    pace.hurry()
    assert pace.wants_sweep()
    pace.swept(at_rest=False)
    assert pace.wants_sweep()


def test_a_request_that_comes_during_a_sweep_is_not_forgotten() -> None:
    pace = SweepPace()
    assert pace.wants_sweep()
    pace.hurry()
    pace.swept(at_rest=True)
    assert pace.wants_sweep()


def test_a_round_at_rest_asks_the_database_nothing(
    runtime: Runtime, sweeps: list[int], django_assert_num_queries: Any
) -> None:
    come_to_rest(runtime, sweeps)
    with django_assert_num_queries(0):
        turn_rounds(runtime, limits.REST_ROUNDS - 1)
    turn_rounds(runtime, 1)
    assert len(sweeps) == 1


def test_what_a_sweep_must_know_is_one_statement(runtime: Runtime, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        seen = SweepState.read()
    assert [worker.name for worker in seen.workers] == [runtime.owner]
    assert seen.at_rest and not seen.has_pauses and Chore in seen.idle_models


def test_before_the_first_heartbeat_a_sweep_looks_everywhere() -> None:
    seen = SweepState.read()
    assert seen.has_pauses and not seen.at_rest and not seen.idle_models


@pytest.mark.parametrize("status", ["queued", "running"])
def test_while_a_job_moves_every_round_sweeps(runtime: Runtime, sweeps: list[int], status: str) -> None:
    Chore.objects.create(status=status, lease_until=timezone.now() + timedelta(seconds=60), owner="other")
    turn_rounds(runtime, 5)
    assert len(sweeps) == 5


@pytest.mark.parametrize(
    ("values", "at_rest"),
    [
        ({"run_at": None}, True),
        ({"run_at": timedelta(hours=1)}, True),
        ({"run_at": timedelta(seconds=1)}, False),
        ({"run_at": None, "cancel_requested_at": timedelta()}, False),
    ],
)
def test_a_job_that_waits_for_long_lets_workers_rest(
    runtime: Runtime, values: dict[str, timedelta | None], at_rest: bool
) -> None:
    times = {name: span if span is None else timezone.now() + span for name, span in values.items()}
    Chore.objects.create(status="waiting", **times)
    seen = SweepState.read()
    assert seen.at_rest is at_rest
    assert Chore not in seen.idle_models


def test_a_neighbour_that_dies_at_rest_is_noticed_in_the_next_round(
    runtime: Runtime, sweeps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    dead: set[int] = set()
    monkeypatch.setattr(liveness, "is_dead", lambda other: other.pid in dead)
    other = liveness.ProcessIdentity(machine="m", space="s", pid=7, born="1")
    WorkerBeat.objects.create(name="other", kind="chores", seen_at=timezone.now(), process=str(other))
    come_to_rest(runtime, sweeps)
    chore = Chore.objects.create(
        status="running", owner="other", lease_until=timezone.now() + timedelta(seconds=60)
    )
    dead.add(7)
    turn_rounds(runtime, 1)
    chore.refresh_from_db()
    assert chore.lease_until is not None and chore.lease_until < timezone.now() and chore.poked_at is not None
    sweeps.clear()
    Chore.objects.all().delete()
    come_to_rest(runtime, sweeps)
    turn_rounds(runtime, limits.REST_ROUNDS)
    assert len(sweeps) == 1, "a dead worker is noticed once"


def test_pauses_and_new_workers_are_broadcast(runtime: Runtime) -> None:
    heard: list[int] = []
    listening = sweep.listen(lambda: heard.append(1))

    def is_heard() -> bool:
        sweep.broadcast()
        return bool(heard)

    eventually(is_heard)
    changes = (
        lambda: pauses.pause(Pause.Kind.QUEUE, "chores"),
        lambda: pauses.resume(Pause.Kind.QUEUE, "chores"),
        lambda: Pause.objects.create(kind=Pause.Kind.USER, name="1"),  # as the admin does
        Pause.objects.all().delete,
    )
    for change in changes:
        heard.clear()
        change()
        eventually(lambda: heard)
    heard.clear()
    newcomer = Runtime()
    newcomer.queues = frozenset({"chores"})
    newcomer._beat()
    eventually(lambda: heard)
    listening.cancel()
