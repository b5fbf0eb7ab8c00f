"""Database connections of the calling thread: returned before every outside wait, or kept outside the pool.

A process has far more threads than its pool has connections. That works because a thread needs one for a transaction
only: whatever waits for the outside (a model, HTTP, a sandbox, mail, a person) does so inside `outside_wait`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from durable import limits

_thread = threading.local()


class WaitInTransaction(RuntimeError):
    """A transaction is open and would stay open during an outside wait. Commit it first."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


@contextmanager
def outside_wait() -> Iterator[None]:
    """Return this thread's connections to the pool and mark the thread as waiting; raises WaitInTransaction."""
    for connection in _opened():
        if _in_transaction(connection):
            raise WaitInTransaction
    release()
    _thread.waits = waits = getattr(_thread, "waits", 0) + 1
    try:
        yield
    finally:
        _thread.waits = waits - 1


def in_outside_wait() -> bool:
    """Return whether this thread is inside `outside_wait`."""
    return bool(getattr(_thread, "waits", 0))


def release() -> None:
    """Return this thread's connections to the pool, except one with an open transaction."""
    for connection in _opened():
        if not connection.in_atomic_block:
            connection.close()


def give_way() -> None:
    """Return this thread's connections if other threads are waiting for one."""
    for connection in _opened():
        pool = getattr(connection, "pool", None)
        if pool is not None and pool.get_stats().get("requests_waiting") and not connection.in_atomic_block:
            connection.close()


def use_own_connection() -> None:
    """Let this thread use one lasting connection outside the pool, so that it never queues for one.

    SQLite has no pool, so nothing changes there.
    """
    own: Any = connections.create_connection(DEFAULT_DB_ALIAS)
    if not own.settings_dict["OPTIONS"].get("pool"):
        return
    options = {name: value for name, value in own.settings_dict["OPTIONS"].items() if name != "pool"}
    own.settings_dict = own.settings_dict | {"OPTIONS": options, "CONN_MAX_AGE": None}
    release()
    connections[DEFAULT_DB_ALIAS] = own


def pool_size() -> int | None:
    """Return how many connections the pool of a process has; None if there is no pool."""
    pool = settings.DATABASES[DEFAULT_DB_ALIAS]["OPTIONS"].get("pool")
    return int(pool["max_size"]) if pool else None


def check_concurrency(concurrency: int, size: int | None) -> str:
    """Return why the pool is too small for so many concurrent jobs, or "" if it is large enough."""
    needed = math.ceil((concurrency + limits.NODE_THREADS) / limits.THREADS_PER_CONNECTION)
    if size is None or size >= needed:
        return ""
    return (
        f"{concurrency} jobs and {limits.NODE_THREADS} blocks at once share {size} database connections. "
        f"Set COPILOT_DATABASE_POOL_SIZE to {needed} or more, or lower the concurrency."
    )


def _opened() -> list[Any]:
    return [made for made in connections.all(initialized_only=True) if made.connection is not None]


def _in_transaction(connection: Any) -> bool:
    """Return whether a transaction is open; like `atomic(durable=True)`, ignore that of a test case."""
    return connection.in_atomic_block and not (
        connection.atomic_blocks and connection.atomic_blocks[-1]._from_testcase
    )
