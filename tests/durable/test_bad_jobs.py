"""A job that cannot be ended properly ends all the same, and stands in nobody's way."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DataError, OperationalError
from django.utils import timezone

from durable import jobs, limits
from durable.lease import NOT_CLOSED, NOT_SAVED, Lease
from durable.lifecycle import NewAttempt
from durable.runtime import Runtime
from tests.durable.fixed_clock import FixedClock
from tests.durable.testjobs.lifecycle import ChoreLifecycle
from tests.durable.testjobs.models import Chore, Tick

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
HOOKS = ("ended_unowned", "ended", "after_end")


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    monkeypatch.setattr(Runtime, "start_threads", lambda self: None)
    made = Runtime()
    made.queues = frozenset({"chores"})
    return made


@pytest.fixture
def bad(monkeypatch: pytest.MonkeyPatch) -> set[Any]:
    """The ids of chores whose hooks raise."""
    ids: set[Any] = set()

    def broken(hook: str) -> None:
        real = getattr(ChoreLifecycle, hook)

        def call(self: ChoreLifecycle, job: Chore) -> None:
            real(self, job)
            if job.pk in ids and hook != "after_end":
                Chore.objects.filter(pk=job.pk).update(error="half done")
            if job.pk in ids:
                raise DataError("unsupported Unicode escape sequence")

        monkeypatch.setattr(ChoreLifecycle, hook, call)

    for hook in HOOKS:
        broken(hook)
    return ids


def dead(clock: FixedClock) -> Chore:
    """One whose workers died as often as they may."""
    crashes = limits.MAX_ATTEMPTS
    return Chore.objects.create(
        status="running", owner="gone", crashes=crashes, attempt=crashes, lease_until=clock.time
    )


def test_a_job_that_cannot_be_closed_is_given_up_and_the_others_are_too(
    clock: FixedClock, bad: set[Any]
) -> None:
    chores = [dead(clock) for _ in range(3)]
    left = Chore.objects.create(status="running", owner="gone", lease_until=clock.time)
    bad.add(chores[0].pk)
    clock.advance(1)
    assert jobs.sweep(Chore) == [left.pk]
    for chore in chores:
        chore.refresh_from_db()
        assert (chore.status, chore.end_reason, chore.owner) == ("failed", "worker_lost", "")
    assert [chore.error for chore in chores] == [NOT_CLOSED, "", ""]
    assert not chores[0].calls.filter(hook="ended").exists()
    assert jobs.sweep(Chore) == []


def test_one_that_cannot_even_be_ended_keeps_no_other_waiting(
    clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    chores = [dead(clock), dead(clock)]
    left = Chore.objects.create(status="running", owner="gone", lease_until=clock.time)
    real = jobs.end_unowned

    def end(model: Any, job_id: Any, *words: Any, **more: Any) -> bool:
        if job_id == chores[0].pk:
            raise ValueError("a poisoned row")
        return real(model, job_id, *words, **more)

    monkeypatch.setattr(jobs, "end_unowned", end)
    clock.advance(1)
    assert jobs.sweep(Chore) == [left.pk]
    chores[1].refresh_from_db()
    assert chores[1].status == "failed"


def test_a_cancel_and_an_operator_end_what_cannot_be_closed(bad: set[Any]) -> None:
    queued, running = Chore.objects.create(status="queued"), Chore.objects.create(status="running", owner="x")
    bad |= {queued.pk, running.pk}
    assert jobs.request_cancel(Chore, queued.pk)
    assert jobs.mark_failed(Chore, running.pk)
    queued.refresh_from_db()
    running.refresh_from_db()
    assert (queued.status, queued.end_reason, queued.error) == ("cancelled", "cancelled", NOT_CLOSED)
    assert (running.status, running.end_reason, running.error) == ("failed", "operator", NOT_CLOSED)


def test_the_result_is_kept_when_only_closing_fails(runtime: Runtime, bad: set[Any]) -> None:
    chore = Chore.objects.create(status="queued")
    bad.add(chore.pk)

    def runner(lease: Lease) -> None:
        tick = lambda: Tick.objects.create(chore=chore, number=0, attempt=1, owner="")  # noqa: E731
        lease.finish(Chore.COMPLETED, reason="done", work=tick)

    runtime.run(Chore, chore.pk, runner)
    chore.refresh_from_db()
    assert (chore.status, chore.end_reason, chore.error) == ("completed", "done", NOT_CLOSED)
    assert chore.done.count() == 1


@pytest.mark.parametrize(
    ("status", "reason", "ended"),
    [
        ("completed", "done", ("failed", "internal_error")),
        ("failed", "model_error", ("failed", "model_error")),
        ("cancelled", "cancelled", ("cancelled", "cancelled")),
    ],
)
def test_an_end_that_cannot_be_written_is_written_plainly(
    runtime: Runtime, status: str, reason: str, ended: tuple[str, str]
) -> None:
    chore = Chore.objects.create(status="queued")

    def poisoned() -> None:
        raise DataError("unsupported Unicode escape sequence")

    runtime.run(Chore, chore.pk, lambda lease: lease.finish(status, reason=reason, work=poisoned))
    chore.refresh_from_db()
    assert ((chore.status, chore.end_reason), chore.error, chore.owner) == (ended, NOT_SAVED, "")
    assert chore.attempt == 1


def test_a_second_end_by_the_runner_itself_stands(runtime: Runtime) -> None:
    chore = Chore.objects.create(status="queued")

    def runner(lease: Lease) -> None:
        with pytest.raises(ZeroDivisionError):
            lease.finish(Chore.COMPLETED, reason="done", work=lambda: 1 // 0)
        lease.finish(Chore.FAILED, reason="crashed", error="It crashed \x00.")

    runtime.run(Chore, chore.pk, runner)
    chore.refresh_from_db()
    assert (chore.status, chore.end_reason, chore.error) == ("failed", "crashed", "It crashed \ufffd.")


def test_a_kind_of_job_whose_sweep_raises_keeps_no_other_kind_waiting(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[Any] = []
    broken: Any = type("Broken", (), {})

    def sweep(model: Any, **options: Any) -> list[Any]:
        if model is broken:
            raise KeyError("a fault of that kind")
        swept.append(model)
        return []

    monkeypatch.setattr(jobs, "sweep", sweep)
    monkeypatch.setattr(runtime, "_served", lambda: [broken, Chore])
    runtime._sweep()
    assert swept == [Chore]


# --- jobs that cannot be claimed ------------------------------------------------------------------


@pytest.fixture
def unclaimable(monkeypatch: pytest.MonkeyPatch) -> set[Any]:
    """The ids of chores that no attempt can be begun for."""
    ids: set[Any] = set()
    real = ChoreLifecycle.claimed

    def claimed(self: ChoreLifecycle, job: Chore, attempt: NewAttempt) -> None:
        real(self, job, attempt)
        if job.pk in ids:
            raise DataError("unsupported Unicode escape sequence")

    monkeypatch.setattr(ChoreLifecycle, "claimed", claimed)
    return ids


def nothing(lease: Lease) -> None:
    lease.finish(Chore.COMPLETED, reason="done")


@pytest.mark.parametrize("status", ["queued", "waiting", "running"])
def test_a_job_that_can_never_be_claimed_ends_with_its_reason_and_the_others_run(
    runtime: Runtime, unclaimable: set[Any], status: str
) -> None:
    chore = Chore.objects.create(status=status, run_at=timezone.now(), error="")
    other = Chore.objects.create(status="queued")
    unclaimable.add(chore.pk)
    for _ in range(limits.CLAIM_TRIES - 1):
        runtime.run(Chore, chore.pk, nothing)
    chore.refresh_from_db()
    assert (chore.status, chore.attempt) == (status, 0)
    runtime.run(Chore, chore.pk, nothing)
    runtime.run(Chore, other.pk, nothing)
    chore.refresh_from_db()
    other.refresh_from_db()
    assert (chore.status, chore.end_reason, chore.error) == ("failed", "internal_error", jobs.NOT_CLAIMED)
    assert [call.hook for call in chore.calls.order_by("pk")] == ["ended_unowned", "ended", "after_end"]
    assert other.status == "completed"
    assert jobs.sweep(Chore) == []


def test_one_that_can_neither_be_claimed_nor_closed_ends_all_the_same(
    runtime: Runtime, unclaimable: set[Any], bad: set[Any]
) -> None:
    chore = Chore.objects.create(status="queued")
    unclaimable.add(chore.pk)
    bad.add(chore.pk)
    for _ in range(limits.CLAIM_TRIES):
        runtime.run(Chore, chore.pk, nothing)
    chore.refresh_from_db()
    assert (chore.status, chore.end_reason) == ("failed", "internal_error")
    assert chore.error == f"{jobs.NOT_CLAIMED} {NOT_CLOSED}"


def test_one_that_was_asked_to_stop_is_cancelled(runtime: Runtime, unclaimable: set[Any]) -> None:
    chore = Chore.objects.create(status="running", cancel_requested_at=timezone.now())
    unclaimable.add(chore.pk)
    for _ in range(limits.CLAIM_TRIES):
        runtime.run(Chore, chore.pk, nothing)
    chore.refresh_from_db()
    assert (chore.status, chore.end_reason) == ("cancelled", "cancelled")


def test_a_claim_that_succeeds_after_failures_is_nothing_special(
    runtime: Runtime, unclaimable: set[Any]
) -> None:
    chores = [Chore.objects.create(status="queued") for _ in range(2)]
    unclaimable |= {chore.pk for chore in chores}
    for _ in range(limits.CLAIM_TRIES - 1):
        runtime.run(Chore, chores[0].pk, nothing)
    unclaimable.clear()
    runtime.run(Chore, chores[0].pk, nothing)
    chores[0].refresh_from_db()
    assert (chores[0].status, chores[0].attempt, chores[0].crashes) == ("completed", 1, 0)


def test_a_database_that_is_away_is_no_fault_of_the_job(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    chore = Chore.objects.create(status="queued")

    def away(self: ChoreLifecycle, job: Chore, attempt: NewAttempt) -> None:
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(ChoreLifecycle, "claimed", away)
    for _ in range(limits.CLAIM_TRIES + 1):
        with pytest.raises(OperationalError):
            runtime.run(Chore, chore.pk, nothing)
    chore.refresh_from_db()
    assert chore.status == "queued"


def test_a_job_that_another_worker_holds_is_not_ended(
    runtime: Runtime, clock: FixedClock, unclaimable: set[Any]
) -> None:
    chore = Chore.objects.create(status="queued")
    unclaimable.add(chore.pk)
    for _ in range(limits.CLAIM_TRIES - 1):
        runtime.run(Chore, chore.pk, nothing)
    held = Chore.objects.filter(pk=chore.pk)
    held.update(status="running", owner="other", lease_until=clock.after(60))
    assert not jobs.end_unclaimable(Chore, chore.pk)
    chore.refresh_from_db()
    assert (chore.status, chore.owner) == ("running", "other")
