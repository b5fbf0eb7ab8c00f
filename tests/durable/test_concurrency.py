"""Many threads and processes at the same rows, and a database that goes away in the middle."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F

from durable import event_log, jobs, limits
from durable.database import in_transaction, retry_database
from durable.errors import LeaseLost
from durable.event_log import START
from durable.lease import Lease
from durable.runtime import Runtime
from tests.durable.testjobs.events import Mark
from tests.durable.testjobs.models import Chore, Tick

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
T = TypeVar("T")
SECONDS = 60.0


def together(works: list[Callable[[], T]]) -> list[T]:
    """Run all at the same moment, each on a thread with its own database connection."""
    gate = threading.Barrier(len(works))

    def one(work: Callable[[], T]) -> T:
        try:
            gate.wait(SECONDS)
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(SECONDS) for future in [pool.submit(one, work) for work in works]]


def queue(**values: Any) -> Chore:
    return Chore.objects.create(status="queued", **values)


def claimed(chore: Chore, owner: str = "a") -> Lease:
    lease = jobs.claim(Chore, chore.pk, owner=owner)
    assert lease is not None
    return lease


def tick(lease: Lease, number: int = 0) -> None:
    Tick.objects.create(chore_id=lease.job_id, number=number, attempt=lease.attempt, owner=lease.owner)


# --- claims -------------------------------------------------------------------------------------


def test_of_twenty_claims_at_once_one_wins() -> None:
    for _ in range(5):
        chore = queue()
        leases = together(
            [lambda n=n, chore=chore: jobs.claim(Chore, chore.pk, owner=f"w{n}") for n in range(20)]  # type: ignore[misc]
        )
        (winner,) = [lease for lease in leases if lease is not None]
        chore.refresh_from_db()
        assert (chore.attempt, chore.owner, chore.crashes) == (1, winner.owner, 0)
        assert chore.calls.count() == 1


def test_of_twenty_claims_by_processes_one_wins() -> None:
    """Forked from a process with running threads and open connections, as the embedded supervisor forks its own."""
    chore = queue()
    context = multiprocessing.get_context("fork")
    gate, answers = context.Barrier(20), context.Queue()
    children = [
        context.Process(target=claim_in_child, args=(chore.pk, number, gate, answers)) for number in range(20)
    ]
    for child in children:
        child.start()
    results = [answers.get(timeout=SECONDS) for _ in children]
    for child in children:
        child.join(SECONDS)
    assert sorted(results) == [*["nothing"] * 19, "won and wrote"]
    chore.refresh_from_db()
    assert (chore.attempt, chore.status, chore.done.count()) == (1, "completed", 1)
    assert [json.loads(entry.body)["text"] for entry in event_log.tail(chore.pk, START)] == ["from a child"]


def claim_in_child(job_id: uuid.UUID, number: int, gate: Any, answers: Any) -> None:
    try:
        gate.wait(SECONDS)
        lease = jobs.claim(Chore, job_id, owner=f"p{number}")
        if lease is None:
            answers.put("nothing")
            return
        lease.emitter.emit(Mark(text="from a child"))
        lease.finish(Chore.COMPLETED, work=lambda: tick(lease))
        answers.put("won and wrote")
    except BaseException as error:
        answers.put(repr(error))
        raise
    finally:
        connection.close()


def test_a_rule_of_the_kind_holds_against_claims_at_once() -> None:
    chores = [queue(room="kitchen") for _ in range(10)]
    leases = together([lambda c=c: jobs.claim(Chore, c.pk, owner="a") for c in chores])  # type: ignore[misc]
    assert len([lease for lease in leases if lease is not None]) == 1
    assert Chore.objects.filter(status="running").count() == 1
    assert Chore.objects.filter(status="queued", attempt=0, owner="").count() == 9


def test_sweeps_heartbeats_claims_and_commits_at_once_never_fail() -> None:
    for _ in range(60):
        queue()
    until = time.monotonic() + 3
    faults: list[BaseException] = []

    def keep(work: Callable[[], object]) -> Callable[[], None]:
        def loop() -> None:
            while time.monotonic() < until:
                try:
                    work()
                except BaseException as error:
                    faults.append(error)
                    raise

        return loop

    ids = list(Chore.objects.values_list("pk", flat=True))

    def work(owner: str) -> Callable[[], None]:
        places = iter(ids * 1_000)

        def claim_and_commit() -> None:
            lease = jobs.claim(Chore, next(places), owner=owner)
            if lease is not None:
                lease.commit(lambda: tick(lease))
                lease.hand_over()

        return claim_and_commit

    together(
        [keep(lambda: jobs.sweep(Chore))] * 3
        + [keep(lambda owner=owner: jobs.renew(Chore, ids, owner=owner)) for owner in "ab"]  # type: ignore[misc]
        + [keep(work(owner)) for owner in "aabb"]
    )
    assert not faults
    assert Tick.objects.count() == sum(Chore.objects.values_list("commits", flat=True)) / 2


def test_cancel_and_end_at_once_give_one_end() -> None:
    for round_number in range(20):
        chore = queue()
        lease = claimed(chore)
        works: list[Callable[[], object]] = [
            lambda lease=lease: lost(lambda: lease.finish(Chore.COMPLETED)),  # type: ignore[misc]
            lambda chore=chore: jobs.force_cancel(Chore, chore.pk),  # type: ignore[misc]
            lambda chore=chore: jobs.request_cancel(Chore, chore.pk),  # type: ignore[misc]
        ]
        together(works)
        chore.refresh_from_db()
        assert chore.status in ("completed", "cancelled"), round_number
        assert chore.calls.filter(hook="ended").count() == 1
        assert chore.calls.filter(hook="after_end").count() == 1


def lost(work: Callable[[], object]) -> bool:
    try:
        work()
    except LeaseLost:
        return True
    return False


def test_commits_of_one_lease_by_many_threads_all_take_effect_once() -> None:
    chore = queue()
    lease = claimed(chore)

    def commit(number: int) -> None:
        lease.emitter.emit(Mark(text=f"[{number}]"))
        lease.commit(lambda: tick(lease, number))

    together([lambda n=n: commit(n) for n in range(20)])  # type: ignore[misc]
    lease.finish(Chore.COMPLETED)
    assert sorted(chore.done.values_list("number", flat=True)) == list(range(20))
    words = [json.loads(entry.body)["text"] for entry in event_log.stored(chore.pk)]
    assert sorted(words) == sorted(f"[{number}]" for number in range(20))
    assert event_log.stored(chore.pk) == event_log.tail(chore.pk, START)


# --- a database that goes away ------------------------------------------------------------------


@pytest.fixture
def losing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Let the next commits fail, before or after they reached the database."""
    plan: list[str] = []
    real: Callable[[], None] = connection._commit  # type: ignore[attr-defined]

    def commit() -> None:
        what = plan.pop(0) if plan else ""
        if what == "before":
            connection.connection.rollback()
            raise OperationalError("server closed the connection unexpectedly")
        real()
        if what == "after":
            raise InterfaceError("connection already closed")

    monkeypatch.setattr(connection, "_commit", commit)
    monkeypatch.setattr("durable.database.FIRST_PAUSE_SECONDS", 0.01)
    yield lambda *what: plan.extend(what)
    assert not plan


@pytest.mark.parametrize("outage", [["before"], ["after"], ["before", "before", "after"]])
def test_a_commit_through_an_outage_takes_effect_once(losing: Callable[..., None], outage: list[str]) -> None:
    chore = queue()
    lease = claimed(chore)
    lease.emitter.emit(Mark(text="a"))
    losing(*outage)

    def work() -> str:
        tick(lease)
        return "its answer"

    assert lease.commit(work, events=[Mark(text="b")]) == "its answer"
    lease.commit(lambda: tick(lease, 1))
    lease.finish(Chore.COMPLETED, events=[Mark(text="c")])
    assert list(chore.done.order_by("pk").values_list("number", flat=True)) == [0, 1]
    assert [json.loads(entry.body)["text"] for entry in event_log.stored(chore.pk)] == ["a", "b", "c"]


@pytest.mark.parametrize("outage", ["before", "after"])
def test_an_end_through_an_outage_happens_once(losing: Callable[..., None], outage: str) -> None:
    chore = queue()
    lease = claimed(chore)
    losing(outage)
    lease.finish(Chore.COMPLETED, reason="done", work=lambda: tick(lease))
    chore.refresh_from_db()
    assert (chore.status, chore.done.count()) == ("completed", 1)
    assert list(chore.calls.order_by("pk").values_list("hook", flat=True)) == [
        "claimed",
        "ended",
        "after_end",
    ]


def test_an_outage_longer_than_the_lease_ends_the_attempt(
    losing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    chore = queue()
    lease = claimed(chore)
    lease.seconds = 0.0
    losing("before")
    with pytest.raises(LeaseLost):
        lease.commit(lambda: tick(lease), events=[Mark(text="never")])
    with pytest.raises(LeaseLost):
        lease.finish(Chore.FAILED)
    with pytest.raises(LeaseLost):
        lease.check()
    assert not Tick.objects.exists()
    chore.refresh_from_db()
    assert chore.status == "running"


def test_a_commit_in_doubt_is_not_taken_for_another_one(losing: Callable[..., None]) -> None:
    """It went through, the answer was lost and the time ran out: the attempt ends, its successor sees the work."""
    chore = queue()
    lease = claimed(chore)
    lease.seconds = 0.0
    losing("after")
    with pytest.raises(LeaseLost):
        lease.commit(lambda: tick(lease), status="running")
    with pytest.raises(LeaseLost):
        lease.commit(lambda: tick(lease, 1))
    assert list(chore.done.values_list("number", flat=True)) == [0]
    Chore.objects.update(lease_until=None)
    successor = claimed(chore, "b")
    successor.commit(lambda: tick(successor, 1))
    assert list(chore.done.order_by("pk").values_list("number", flat=True)) == [0, 1]


def test_a_zombie_whose_commit_is_tried_again_is_still_fenced(losing: Callable[..., None]) -> None:
    chore = queue()
    zombie = claimed(chore)

    def overtaken() -> None:
        Chore.objects.filter(pk=chore.pk).update(attempt=2, owner="b")  # while the first try fails

    tries: list[int] = []

    def work() -> None:
        tries.append(1)
        tick(zombie)

    losing("before")
    real = retry_database.__globals__["time"].sleep

    def sleep(seconds: float) -> None:
        overtaken()
        real(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("durable.database.time.sleep", sleep)
        with pytest.raises(LeaseLost):
            zombie.commit(work)
    assert tries == [1]
    assert not Tick.objects.exists()


def test_a_lost_backend_of_postgresql_costs_a_retry_and_nothing_else() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no server to lose")
    chore = queue()
    lease = claimed(chore)
    tries: list[int] = []

    def work() -> None:
        tries.append(1)
        tick(lease)
        if len(tries) == 1:
            terminate(connection.connection.info.backend_pid)
            Tick.objects.exists()

    lease.commit(work)
    assert len(tries) == 2
    assert chore.done.count() == 1


def terminate(pid: int) -> None:
    def on_another_connection() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])

    together([on_another_connection])


# --- retry_database -----------------------------------------------------------------------------


def test_what_works_is_run_once() -> None:
    runs: list[int] = []
    assert retry_database(lambda: runs.append(1) or "done", seconds=5) == "done"  # type: ignore[func-returns-value]
    assert runs == [1]


def test_other_errors_are_not_tried_again() -> None:
    runs: list[int] = []

    def fail() -> None:
        runs.append(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        retry_database(fail, seconds=5)
    assert runs == [1]


def test_an_error_stays_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("durable.database.FIRST_PAUSE_SECONDS", 0.01)
    runs: list[int] = []

    def fail() -> None:
        runs.append(1)
        raise OperationalError("away")

    with pytest.raises(OperationalError, match="away"):
        retry_database(fail, seconds=0.1)
    assert len(runs) > 1


def test_in_a_transaction_only_its_owner_may_try_again() -> None:
    from django.db import transaction

    runs: list[int] = []

    def fail() -> None:
        runs.append(1)
        raise OperationalError("away")

    with pytest.raises(OperationalError), transaction.atomic():
        retry_database(fail, seconds=5)
    assert runs == [1]


# --- rows that others hold ----------------------------------------------------------------------

ROW_LOCKS = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no locks of single rows")


@contextmanager
def locked_elsewhere(chore: Chore) -> Iterator[None]:
    """Another transaction holds the row while inside."""
    holding, over = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Chore.objects.select_for_update().get(pk=chore.pk)
            holding.set()
            over.wait(SECONDS)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert holding.wait(SECONDS)
        yield
    finally:
        over.set()
        thread.join(SECONDS)


@ROW_LOCKS
def test_one_locked_row_keeps_no_other_lease_from_being_renewed() -> None:
    free, locked = queue(), queue()
    runtime = Runtime()
    leases = [claimed(chore, runtime.owner) for chore in (free, locked)]
    runtime._leases = {lease.job_id: lease for lease in leases}
    for lease in leases:
        lease.renewed_at = 0.0
    Chore.objects.update(lease_until=Chore.clock.after(-60))
    with locked_elsewhere(locked):
        runtime._beat()
    assert [lease.renewed_at > 0 for lease in leases] == [True, False]
    assert [lease.stop.reason for lease in leases] == [None, None]
    expired = Chore.objects.filter(lease_until__lt=Chore.clock.now())
    assert set(expired.values_list("pk", flat=True)) == {locked.pk}
    runtime._beat()
    assert not expired.exists()
    assert leases[1].renewed_at > 0


@ROW_LOCKS
def test_transactions_that_lock_the_same_rows_in_opposite_orders_both_take_effect() -> None:
    one, other = queue(), queue()
    gate = threading.Barrier(2)
    tries: list[str] = []

    def lock_both(name: str, first: Chore, second: Chore) -> None:
        @in_transaction
        def lock() -> None:
            tries.append(name)
            Chore.objects.filter(pk=first.pk).update(ticks=F("ticks") + 1)
            if tries.count(name) == 1:
                gate.wait(SECONDS)
            Chore.objects.filter(pk=second.pk).update(ticks=F("ticks") + 1)

        lock()

    together([lambda: lock_both("a", one, other), lambda: lock_both("b", other, one)])
    assert len(tries) > 2
    assert set(Chore.objects.values_list("ticks", flat=True)) == {5}


def conflict() -> OperationalError:
    error = OperationalError("deadlock detected")
    error.__cause__ = Exception()
    error.__cause__.sqlstate = "40P01"  # type: ignore[attr-defined]
    return error


def test_what_follows_a_commit_does_not_bring_it_about_again() -> None:
    runs: list[int] = []

    def fail() -> None:
        raise conflict()

    @in_transaction
    def work() -> None:
        runs.append(1)
        queue()
        transaction.on_commit(fail)

    with pytest.raises(OperationalError):
        work()
    assert (len(runs), Chore.objects.count()) == (1, 1)


def test_a_transaction_that_always_loses_says_so() -> None:
    runs: list[int] = []

    @in_transaction
    def work() -> None:
        runs.append(1)
        raise conflict()

    with pytest.raises(OperationalError, match="deadlock"):
        work()
    assert len(runs) == limits.CONFLICT_TRIES
