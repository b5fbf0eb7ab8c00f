"""What runs beside the jobs: heartbeat, sweep, hand-over, and what happens when they stumble."""

from __future__ import annotations

import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from durable import cancellation, jobs, limits, liveness
from durable.errors import HandOver, JobCancelled, LeaseLost
from durable.lease import Lease
from durable.models import Job, WorkerBeat
from durable.publisher import Delivery
from durable.redis import client
from durable.runtime import Runtime
from durable.stop_signal import StopReason
from durable.sweep import SweepState
from durable.tracing import current_owner
from tests.durable.conftest import eventually
from tests.durable.testjobs import tasks
from tests.durable.testjobs.models import Chore

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
SECONDS = 120.0


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """One whose threads are not started: each test lets them do one round at a time."""
    monkeypatch.setattr(Runtime, "start_threads", lambda self: None)
    made = Runtime()
    made.queues = frozenset({"chores"})
    return made


def queue(**values: Any) -> Chore:
    return Chore.objects.create(status="queued", **values)


def holding(runtime: Runtime, chore: Chore) -> tuple[Lease, Any]:
    lease = jobs.claim(Chore, chore.pk, owner=runtime.owner)
    assert lease is not None
    held = runtime._holding(lease)
    held.__enter__()
    weakref.finalize(runtime, lambda: held)  # a context that is collected is a context that was left
    return lease, held


def in_thread(work: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


# --- running ------------------------------------------------------------------------------------


def test_a_job_works_for_the_person_it_names(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chore, "user_id", 7, raising=False)
    seen: list[str] = []
    runtime.run(Chore, queue().pk, lambda lease: seen.append(current_owner()))
    assert (seen, current_owner()) == (["user:7"], "")


def test_a_job_is_run_under_a_lease_and_let_go_afterwards(runtime: Runtime) -> None:
    chore = queue(ticks=2)
    held: list[list[Lease]] = []

    def runner(lease: Lease) -> None:
        held.append(runtime.held())
        tasks.work(lease)

    runtime.run(Chore, chore.pk, runner)
    chore.refresh_from_db()
    assert chore.status == "completed"
    assert [lease.job_id for lease in held[0]] == [chore.pk]
    assert runtime.held() == []
    runtime.run(Chore, chore.pk, lambda lease: pytest.fail("ran twice"))


def test_a_job_that_cannot_be_claimed_is_not_run(runtime: Runtime) -> None:
    runtime.run(Chore, uuid.uuid4(), lambda lease: pytest.fail("ran"))


def test_a_fault_of_the_runner_is_raised_and_the_job_is_let_go(runtime: Runtime) -> None:
    def broken(lease: Lease) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        runtime.run(Chore, queue().pk, broken)
    assert runtime.held() == []


def test_a_fenced_runner_ends_without_an_error(runtime: Runtime) -> None:
    def fenced(lease: Lease) -> None:
        raise LeaseLost

    runtime.run(Chore, queue().pk, fenced)
    assert runtime.held() == []


def test_a_runner_that_hands_over_leaves_a_job_another_can_take_at_once(runtime: Runtime) -> None:
    def leaving(lease: Lease) -> None:
        raise HandOver

    chore = queue()
    runtime.run(Chore, chore.pk, leaving)
    assert jobs.claim(Chore, chore.pk, owner="b") is not None


def test_a_hand_over_of_a_job_that_was_lost_meanwhile_is_nothing(runtime: Runtime) -> None:
    def overtaken(lease: Lease) -> None:
        jobs.force_cancel(Chore, lease.job_id)
        raise HandOver

    runtime.run(Chore, queue().pk, overtaken)


def test_a_worker_that_leaves_takes_no_new_job(runtime: Runtime) -> None:
    runtime.drain()
    runtime.run(Chore, queue().pk, lambda lease: pytest.fail("ran"))


def test_a_job_claimed_twice_by_a_thawed_worker_stops_its_older_attempt(runtime: Runtime) -> None:
    chore = queue()
    older, _ = holding(runtime, chore)
    Chore.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    newer, held = holding(runtime, chore)
    assert older.stop.reason is StopReason.LOST
    assert newer.stop.reason is None
    held.__exit__(None, None, None)
    assert runtime.held() == []


@pytest.mark.parametrize("aside", ["waits", "parked"])
def test_a_stop_that_meets_a_job_about_to_be_put_aside_is_not_forgotten(runtime: Runtime, aside: str) -> None:
    chore = queue()

    def work(lease: Lease) -> None:
        jobs.request_cancel(Chore, lease.job_id)  # nobody has told the worker yet
        if aside == "waits":
            lease.wait_until_due(3600)
        else:
            lease.suspend(lambda: None, run_at=Chore.clock.after(3600))

    runtime.run(Chore, chore.pk, work)
    chore.refresh_from_db()
    assert (chore.status, chore.end_reason) == ("cancelled", "cancelled")


def test_a_parked_job_that_was_asked_to_stop_is_found_by_the_sweep(runtime: Runtime) -> None:
    """Its worker died between putting it aside and ending it."""
    chore = queue()
    lease, held = holding(runtime, chore)
    lease.suspend(lambda: None, run_at=Chore.clock.after(3600))
    held.__exit__(None, None, None)
    Chore.objects.update(cancel_requested_at=Chore.clock.now(), poked_at=None)
    assert jobs.sweep(Chore) == [chore.pk]


# --- heartbeat ----------------------------------------------------------------------------------


def test_a_heartbeat_renews_what_is_held_and_gives_a_record_heartbeat(runtime: Runtime) -> None:
    chore = queue()
    holding(runtime, chore)
    Chore.objects.update(lease_until=timezone.now())
    runtime._beat()
    chore.refresh_from_db()
    assert chore.lease_until is not None
    assert chore.lease_until > timezone.now()
    beat = WorkerBeat.objects.get(name=runtime.owner)
    assert (beat.kind, beat.jobs) == ("chores", 1)
    assert beat.process == str(liveness.own_identity() or "")
    runtime._beat()
    runtime.sign_off()
    assert not WorkerBeat.objects.exists()


def test_a_process_without_queues_renews_what_it_holds_and_is_no_worker(runtime: Runtime) -> None:
    """A child of a pool: its row would be left behind with its last job, and taken for a worker gone silent."""
    runtime.queues = frozenset()
    chore = queue()
    holding(runtime, chore)
    Chore.objects.update(lease_until=None)
    runtime._beat()
    assert Chore.objects.get().lease_until is not None
    assert not WorkerBeat.objects.exists()


def test_a_worker_of_very_many_queues_still_gives_its_sign(runtime: Runtime) -> None:
    runtime.queues = frozenset(f"queue{number}" for number in range(100))
    runtime._beat()
    assert len(WorkerBeat.objects.get().kind) == 255


def test_what_a_dead_neighbour_held_is_free_and_what_others_hold_is_not(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead, alive = (liveness.ProcessIdentity(machine="m", space="s", pid=pid, born="1") for pid in (1, 2))
    monkeypatch.setattr(liveness, "is_dead", lambda other: other == dead)
    for name, process in (("dead", str(dead)), ("alive", str(alive)), ("elsewhere", "")):
        WorkerBeat.objects.create(name=name, kind="chores", seen_at=timezone.now(), process=process)
    held = {name: queue() for name in ("dead", "alive", "elsewhere", runtime.owner)}
    suspect = queue(crashes=1)
    for name, chore in [*held.items(), ("dead", suspect)]:
        assert jobs.claim(Chore, chore.pk, owner=name) is not None
    runtime.dead_workers.free_jobs(SweepState.read())
    free = [name for name, chore in held.items() if jobs.claim(Chore, chore.pk, owner="next") is not None]
    assert free == ["dead"]
    assert jobs.claim(Chore, suspect.pk, owner="next") is None, (
        "it saw two workers die: it comes back later, alone"
    )
    assert Chore.objects.get(pk=held["dead"].pk).crashes == 1
    monkeypatch.setattr(liveness, "is_dead", lambda other: other == dead and pytest.fail("asked again"))
    runtime.dead_workers.free_jobs(SweepState.read())


def test_workers_that_die_together_make_nothing_they_held_suspect(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "is_dead", lambda other: True)
    for pid in (1, 2):
        process = str(liveness.ProcessIdentity(machine="m", space="s", pid=pid, born="1"))
        WorkerBeat.objects.create(name=f"w{pid}", kind="chores", seen_at=timezone.now(), process=process)
        assert jobs.claim(Chore, queue(crashes=3).pk, owner=f"w{pid}") is not None
    runtime.dead_workers.free_jobs(SweepState.read())
    assert set(Chore.objects.values_list("crashes", flat=True)) == {0}
    assert len(jobs.sweep(Chore)) == 2


def beat_of(name: str, *, silent_for: float, **more: Any) -> None:
    """The last sign of life of a worker of another machine."""
    process = str(liveness.ProcessIdentity(machine="elsewhere", space="s", pid=1, born=name))
    seen_at = timezone.now() - timedelta(seconds=silent_for)
    WorkerBeat.objects.create(name=name, kind="chores", seen_at=seen_at, process=process, **more)


def resting_suspect() -> Chore:
    return Chore.objects.create(
        status="running",
        owner="earlier",
        attempt=3,
        crashes=limits.SUSPECT_CRASHES,
        lease_until=timezone.now() - timedelta(seconds=0.1),
    )


def test_the_silence_of_a_worker_elsewhere_clears_suspects_that_rest(runtime: Runtime, settings: Any) -> None:
    suspect = resting_suspect()
    beat_of("alive", silent_for=0)
    runtime.dead_workers.record_silent(SweepState.read())
    assert Chore.objects.get(pk=suspect.pk).crashes == limits.SUSPECT_CRASHES
    beat_of("silent", silent_for=settings.COPILOT_LEASE_SECONDS + 1)
    runtime.dead_workers.record_silent(SweepState.read())
    assert Chore.objects.get(pk=suspect.pk).crashes == 1
    Chore.objects.update(crashes=limits.SUSPECT_CRASHES)
    runtime.dead_workers.record_silent(SweepState.read())
    assert Chore.objects.get(pk=suspect.pk).crashes == limits.SUSPECT_CRASHES, (
        "each death is one piece of news"
    )


def test_a_worker_elsewhere_that_fell_silent_with_a_suspect_clears_nobody(
    runtime: Runtime, settings: Any
) -> None:
    resting, held = resting_suspect(), resting_suspect()
    Chore.objects.filter(pk=held.pk).update(owner="silent")
    beat_of("silent", silent_for=settings.COPILOT_LEASE_SECONDS + 1)
    runtime.dead_workers.record_silent(SweepState.read())
    assert set(Chore.objects.values_list("crashes", flat=True)) == {limits.SUSPECT_CRASHES}
    assert jobs.claim(Chore, resting.pk, owner="next") is None


def test_workers_elsewhere_that_fall_silent_together_make_nothing_they_held_suspect(
    runtime: Runtime, settings: Any
) -> None:
    """The second was seen a heartbeat later, as their beats are not at the same moment."""
    for name, silent_for in (("a", 1.0), ("b", 1.0 - settings.COPILOT_HEARTBEAT_SECONDS)):
        beat_of(name, silent_for=settings.COPILOT_LEASE_SECONDS + silent_for)
        chore = resting_suspect()
        Chore.objects.filter(pk=chore.pk).update(owner=name)
    runtime.dead_workers.record_silent(SweepState.read())
    assert Chore.objects.get(owner="a").crashes == 0


def test_a_worker_that_was_only_frozen_keeps_its_jobs_and_is_known_again(
    runtime: Runtime, settings: Any
) -> None:
    other = Runtime()
    other.queues = frozenset({"chores"})
    chore = queue()
    lease, _ = holding(other, chore)
    other._beat()
    process = WorkerBeat.objects.get(name=other.owner).process
    long_ago = timezone.now() - timedelta(seconds=settings.COPILOT_LEASE_SECONDS + 1)
    WorkerBeat.objects.update(seen_at=long_ago)
    runtime.dead_workers.record_silent(SweepState.read())
    chore.refresh_from_db()
    assert chore.owner == other.owner and chore.lease_until is not None and chore.lease_until > timezone.now()
    other._beat()
    assert lease.stop.reason is None
    assert WorkerBeat.objects.get(name=other.owner).process == process


def test_a_new_worker_forgets_those_that_died_long_ago(runtime: Runtime) -> None:
    long_ago = timezone.now() - timedelta(seconds=limits.WORKER_FORGET_SECONDS + 60)
    WorkerBeat.objects.create(name="dead", kind="chores", seen_at=long_ago)
    WorkerBeat.objects.create(name="alive", kind="chores", seen_at=timezone.now())
    runtime._beat()
    assert set(WorkerBeat.objects.values_list("name", flat=True)) == {"alive", runtime.owner}


def test_a_heartbeat_stops_what_is_no_longer_ours_and_what_was_cancelled(runtime: Runtime) -> None:
    lost, cancelled, fine = queue(), queue(), queue()
    leases = [holding(runtime, chore)[0] for chore in (lost, cancelled, fine)]
    Chore.objects.filter(pk=lost.pk).update(attempt=2, owner="b")
    jobs.request_cancel(Chore, cancelled.pk)
    runtime._beat()
    assert [lease.stop.reason for lease in leases] == [StopReason.LOST, StopReason.CANCELLED, None]


def test_a_job_that_has_just_ended_is_not_called_lost(runtime: Runtime) -> None:
    chore = queue()
    lease, _ = holding(runtime, chore)
    lease.finish(Chore.COMPLETED)
    runtime._beat()
    assert lease.stop.reason is None


def test_without_the_database_a_lease_runs_out_by_itself(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh, overdue = holding(runtime, queue())[0], holding(runtime, queue())[0]
    overdue.renewed_at = time.monotonic() - overdue.seconds - 1

    def away(*args: Any, **values: Any) -> Any:
        raise OperationalError("away")

    monkeypatch.setattr(jobs, "renew", away)
    with pytest.raises(OperationalError):
        runtime._beat()
    assert fresh.stop.reason is None
    assert overdue.stop.reason is StopReason.LOST


def test_a_commit_and_a_heartbeat_count_as_renewals(runtime: Runtime) -> None:
    lease, _ = holding(runtime, queue())
    renewals: list[Callable[[], object]] = [lambda: lease.commit(lambda: None), runtime._beat]
    for renew in renewals:
        lease.renewed_at = 0.0
        renew()
        assert lease.renewed_at > 0


@pytest.mark.parametrize("fault", [OperationalError("away"), InterfaceError("closed"), ZeroDivisionError()])
def test_no_fault_ends_a_thread_of_the_runtime(runtime: Runtime, fault: Exception) -> None:
    rounds: list[int] = []

    def stumble() -> None:
        rounds.append(1)
        raise fault

    runtime._thread("test", stumble, lambda: 0.001 if len(rounds) < 5 else 10_000.0)
    eventually(lambda: len(rounds) > 3)


# --- sweep --------------------------------------------------------------------------------------


def test_a_sweep_sees_a_cancel_the_bell_did_not_bring(runtime: Runtime) -> None:
    chore = queue()
    lease, _ = holding(runtime, chore)
    jobs.request_cancel(Chore, chore.pk)
    runtime._sweep()
    with pytest.raises(JobCancelled):
        lease.check()


def test_a_sweep_pokes_the_jobs_of_its_own_queues_only(runtime: Runtime) -> None:
    chore = queue()
    runtime.queues = frozenset({"elsewhere"})
    runtime._sweep()
    chore.refresh_from_db()
    assert chore.poked_at is None
    runtime.queues = frozenset({"chores"})
    runtime._sweep()
    chore.refresh_from_db()
    assert chore.poked_at is not None


def test_a_kind_of_job_that_cannot_be_swept_does_not_keep_the_others_waiting(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[type[Job]] = []

    broken: Any = type("Broken", (), {})
    real = jobs.sweep

    def sweep(model: type[Job], **options: Any) -> list[uuid.UUID]:
        if model is broken:
            raise OperationalError("no such table")
        swept.append(model)
        return real(model)

    monkeypatch.setattr(jobs, "sweep", sweep)
    monkeypatch.setattr(runtime, "_served", lambda: [broken, Chore])
    runtime._sweep()
    assert swept == [Chore]


def test_a_queue_of_a_worker_that_has_several_takes_no_more_than_its_share(runtime: Runtime) -> None:
    runtime.queue_limits = {"chores": 2, "elsewhere": 5}
    holding(runtime, queue())
    assert runtime._room_in_queue(Chore.queue) == 1
    _, held = holding(runtime, queue())
    left, ran = queue(poked_at=timezone.now()), []
    runtime.run(Chore, left.pk, lambda lease: ran.append(lease))
    left.refresh_from_db()
    assert (ran, left.status, left.poked_at) == ([], "queued", None)
    runtime._sweep()
    left.refresh_from_db()
    assert left.poked_at is None and runtime._has_backlog
    held.__exit__(None, None, None)
    runtime._sweep()
    left.refresh_from_db()
    assert left.poked_at is not None


def test_without_the_broker_jobs_run_here_once_each(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[uuid.UUID] = []

    def broker_is_down(model: type[Job], job_id: uuid.UUID) -> Delivery:
        asked.append(job_id)
        return Delivery.LOST

    runs: list[str] = []
    gate = threading.Event()

    class Task:
        def run(self, job_id: str) -> None:
            gate.wait(SECONDS)
            runs.append(job_id)
            raise ZeroDivisionError

    monkeypatch.setattr("durable.runtime.send_poke", broker_is_down)
    monkeypatch.setattr("durable.runtime.current_app", type("App", (), {"tasks": {Chore.task_name: Task()}}))
    ids = [uuid.uuid4() for _ in range(30)]
    runtime._poke_all(Chore, ids)
    runtime._poke_all(Chore, ids)
    assert len(asked) == 2  # not again and again: each asking may take seconds
    gate.set()
    eventually(lambda: sorted(runs) == sorted(str(one) for one in ids))
    eventually(lambda: not runtime._local_ids)


def test_a_worker_that_leaves_does_not_sweep(runtime: Runtime) -> None:
    chore = queue()
    runtime.draining.set()
    runtime._sweep()
    chore.refresh_from_db()
    assert chore.poked_at is None


# --- stopping -----------------------------------------------------------------------------------


def test_leaving_tells_the_jobs_and_after_a_grace_insists(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HANDOVER_GRACE_SECONDS", 0.05)
    lease, _ = holding(runtime, queue())
    runtime.drain()
    assert lease.draining
    eventually(lambda: lease.stop.reason is StopReason.HAND_OVER)
    later, _ = holding(runtime, queue())
    assert later.draining


def test_a_ring_of_the_cancel_bell_stops_the_job_it_is_for(runtime: Runtime) -> None:
    lease, _ = holding(runtime, queue())
    other, _ = holding(runtime, queue())
    runtime.cancel(uuid.uuid4())
    runtime.cancel(lease.job_id)
    assert lease.stop.reason is StopReason.CANCELLED
    assert other.stop.reason is None


@pytest.fixture
def listening(runtime: Runtime) -> Iterator[Runtime]:
    listener = cancellation.listen(runtime.cancel)
    eventually(lambda: client().pubsub_numsub(cancellation.CHANNEL)[0][1])
    yield runtime
    listener.cancel()


def test_the_bell_reaches_a_running_job_through_redis(listening: Runtime) -> None:
    chore = queue(ticks=100_000, pace_seconds=0.05)
    thread = in_thread(lambda: listening.run(Chore, chore.pk, tasks.work))
    eventually(lambda: chore.done.count() > 0)
    assert jobs.request_cancel(Chore, chore.pk)

    def ring_and_look() -> bool:
        cancellation.broadcast(chore.pk)
        return not thread.is_alive()

    eventually(ring_and_look)
    chore.refresh_from_db()
    assert (chore.status, chore.attempt) == ("cancelled", 1)


def test_a_job_somebody_waits_for_is_run_beside_the_pool_and_once(runtime: Runtime) -> None:
    chore = queue(ticks=2)
    assert tasks.run_chore.name == Chore.task_name
    for _ in range(5):
        runtime.run_on_extra_thread(Chore, chore.pk)
    eventually(lambda: Chore.objects.filter(pk=chore.pk, status="completed").exists())
    assert Chore.objects.get(pk=chore.pk).attempt == 1
    runtime.run_on_extra_thread(Chore, chore.pk)
    eventually(lambda: not runtime._local_ids)
    assert Chore.objects.get(pk=chore.pk).attempt == 1
