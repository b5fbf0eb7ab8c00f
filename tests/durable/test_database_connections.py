"""Connections are given back before outside waits, and heartbeat and sweep never queue for one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.db import connection, connections, transaction

from durable import jobs, limits
from durable.database import (
    WaitInTransaction,
    check_concurrency,
    give_way,
    in_outside_wait,
    outside_wait,
    pool_size,
    release,
    use_own_connection,
)
from durable.runtime import Runtime
from tests.durable.testjobs.models import Chore

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no pool")
SECONDS = 120.0


def is_open() -> bool:
    return connection.connection is not None


def on_thread(work: Callable[[], object]) -> Any:
    """What `work` answers on a thread of its own, which leaves nothing open behind."""
    answers: list[object] = []

    def run() -> None:
        try:
            answers.append(work())
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    return answers[0]


# --- waiting --------------------------------------------------------------------------------------


def test_the_connection_is_given_back_for_the_wait_and_can_be_used_afterwards() -> None:
    assert Chore.objects.count() == 0
    with outside_wait():
        assert in_outside_wait()
        assert not is_open()
    assert not in_outside_wait()
    assert Chore.objects.count() == 0


def test_a_wait_within_a_wait_is_one_wait() -> None:
    with outside_wait():
        with outside_wait():
            pass
        assert in_outside_wait()
    assert not in_outside_wait()


def test_a_thread_that_never_asked_the_database_may_wait() -> None:
    def wait() -> bool:
        with outside_wait():
            return is_open()

    assert on_thread(wait) is False


def test_a_wait_in_a_transaction_is_refused_and_the_transaction_stays_whole() -> None:
    with transaction.atomic():
        Chore.objects.create(status="queued")
        with pytest.raises(WaitInTransaction, match="Commit it first"), outside_wait():
            pytest.fail("it must not come so far")
    assert Chore.objects.count() == 1
    assert not in_outside_wait()


def test_release_leaves_a_transaction_alone() -> None:
    with transaction.atomic():
        Chore.objects.create(status="queued")
        release()
        assert is_open()
    release()
    assert not is_open()


@pytest.mark.django_db(transaction=False)
def test_the_transaction_around_a_test_case_is_no_reason_to_refuse() -> None:
    Chore.objects.create(status="queued")
    with outside_wait():
        assert in_outside_wait()
    with transaction.atomic(), pytest.raises(WaitInTransaction), outside_wait():
        pytest.fail("it must not come so far")


# --- the pool -------------------------------------------------------------------------------------


@contextmanager
def used_up_pool() -> Iterator[Any]:
    """Every connection of the pool is taken."""
    pool: Any = connection.pool  # type: ignore[attr-defined]
    pool.open()
    taken = [pool.getconn() for _ in range(pool_size() or 0)]
    try:
        yield pool
    finally:
        for one in taken:
            pool.putconn(one)


@on_postgresql
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_heartbeat_renews_and_sweep_looks_while_no_connection_is_to_be_had() -> None:
    chore = Chore.objects.create(status="queued")
    runtime = Runtime()
    lease = jobs.claim(Chore, chore.pk, owner=runtime.owner)
    assert lease is not None
    release()
    rounds, over = threading.Semaphore(0), threading.Event()

    def beat_and_look() -> None:
        if over.is_set():
            connections.close_all()
            raise SystemExit  # ends this thread only
        runtime._beat()
        runtime._sweep()
        rounds.release()

    with runtime._holding(lease), used_up_pool(), ExitStack() as stack:
        stack.callback(over.set)
        renewed_at = lease.renewed_at
        runtime._thread("heartbeat", beat_and_look, lambda: 0.05)
        assert rounds.acquire(timeout=limits.REDIS_TIMEOUT_SECONDS + 5), "the heartbeat waits for the pool"
        assert rounds.acquire(timeout=SECONDS)
        assert lease.renewed_at > renewed_at
        assert lease.stop.reason is None


@on_postgresql
def test_an_own_connection_lasts_and_is_replaced_when_the_server_cut_it() -> None:
    def work() -> tuple[int, int, int]:
        use_own_connection()
        first = backend()
        connection.close_if_unusable_or_obsolete()  # what `close_old_connections` does each round
        second = backend()
        on_thread(lambda: run_sql("SELECT pg_terminate_backend(%s)", first))
        connection.close_if_unusable_or_obsolete()
        third = backend()
        return first, second, third

    first, second, third = on_thread(work)
    assert first == second != third


def backend() -> int:
    return int(run_sql("SELECT pg_backend_pid()"))


def run_sql(query: str, *values: int) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchone()[0]


@on_postgresql
def test_a_thread_makes_way_only_when_others_wait() -> None:
    assert Chore.objects.count() == 0
    give_way()
    assert is_open()
    pool: Any = connection.pool  # type: ignore[attr-defined]
    taken = [pool.getconn() for _ in range((pool_size() or 0) - 1)]
    asked = threading.Thread(target=on_thread, args=(Chore.objects.count,), daemon=True)
    try:
        asked.start()
        while not pool.get_stats().get("requests_waiting"):
            assert asked.is_alive()
        give_way()
        assert not is_open()
        asked.join(SECONDS)
        assert not asked.is_alive()
    finally:
        for one in taken:
            pool.putconn(one)


# --- concurrency ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("concurrency", "size"), [(64, 32), (256, 32), (1_000_000, None), (64, 20)])
def test_concurrency_that_fits_the_pool_is_well(concurrency: int, size: int | None) -> None:
    assert check_concurrency(concurrency, size) == ""


@pytest.mark.parametrize(("concurrency", "size", "needed"), [(64, 19, 20), (257, 32, 33), (1_000, 32, 79)])
def test_too_many_threads_for_the_pool_are_told_with_the_size_that_would_do(
    concurrency: int, size: int, needed: int
) -> None:
    assert f"COPILOT_DATABASE_POOL_SIZE to {needed} or more" in check_concurrency(concurrency, size)
