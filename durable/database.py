"""Use of the database by jobs: retried transactions, work after a commit, connections held only while used.

A process has far more threads than its pool has connections. That works because a thread needs one for a transaction
only: whatever waits for the outside (a model, HTTP, a sandbox, mail, a person) does so inside `outside_wait`.
"""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection, connections, transaction

from durable import limits
from durable.backoff import Backoff
from durable.errors import DurableError

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
logger = logging.getLogger(__name__)
_thread = threading.local()

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
# Errors of one statement rather than of the server: deadlock or conflict, lock not available, a limit exceeded,
# statement timeout.
OF_ONE_STATEMENT = ("40", "55", "54", "57014")
NOT_TO_BE_REPEATED = ("54",)
CONFLICTS = ("40001", "40P01")  # serialization_failure, deadlock_detected


def retry_database(work: Callable[[], T], *, seconds: float) -> T:
    """Retry `work` with jitter during a database outage, for at most `seconds`; `work` may run twice."""
    if connection.in_atomic_block:  # the error aborts an outer transaction; only its owner can retry
        return work()
    deadline = time.monotonic() + seconds
    backoff = Backoff(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
    while True:
        try:
            return work()
        except (OperationalError, InterfaceError) as error:
            pause = backoff.next()
            if time.monotonic() + pause > deadline or not may_pass(error):
                raise
            logger.warning("The database does not answer, trying again: %s", error)
            connection.close()
            time.sleep(random.uniform(pause / 2, pause))  # noqa: S311


def in_transaction(function: Callable[P, T]) -> Callable[P, T]:
    """Run the function in a transaction, and retry it if the transaction loses a conflict.

    PostgreSQL breaks a deadlock by rolling one transaction back completely, so a retry is safe. Inside another
    transaction only the outermost can be retried; the error is raised to it.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        if connection.in_atomic_block:
            with transaction.atomic():
                return function(*args, **kwargs)
        committed: list[bool] = []
        for tries_left in reversed(range(limits.CONFLICT_TRIES)):
            try:
                with transaction.atomic():
                    transaction.on_commit(lambda: committed.append(True))  # before what `function` adds
                    return function(*args, **kwargs)
            except OperationalError as error:
                if committed or not (is_conflict(error) and tries_left):
                    raise
                logger.info("%s lost a conflict with another transaction and starts again", function.__name__)
            time.sleep(random.uniform(0, limits.CONFLICT_PAUSE_SECONDS))  # noqa: S311
        raise AssertionError("unreachable: the last try returns or raises")

    return run


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Open a transaction whose statements and lock waits time out after `seconds`."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            milliseconds = str(max(int(seconds * 1000), 1))
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)",
                    [milliseconds, milliseconds],
                )
        yield


def after_commit(function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call the function after the surrounding transaction commits; log it if it raises.

    Django's `on_commit(robust=True)` logs the function's name, which a `functools.partial` does not have: the error
    would reach the caller as if the commit had failed.
    """

    def call() -> None:
        function(*args, **kwargs)

    call.__qualname__ = getattr(function, "__qualname__", repr(function))
    transaction.on_commit(call, robust=True)


# --- errors of one item, of one statement, of the whole database ------------------------------------


def run_each(items: Iterable[T], work: Callable[[T], R], *, what: str) -> list[R]:
    """Call `work` for each item and return the results of those that succeeded.

    An item that raises is logged and left for the next time. A database outage is raised: the remaining items would
    only fail for the same reason.
    """
    results: list[R] = []
    for item in items:
        try_one(lambda item=item: results.append(work(item)), what=what, item=item)  # type: ignore[misc]
    return results


def try_one(work: Callable[[], object], *, what: str, item: object = None) -> bool:
    """Call `work`; log the error and return False if it raises.

    Raises during a database outage, and inside a transaction that lost a deadlock, which its owner restarts.
    """
    try:
        work()
    except Exception as error:  # one user's row must not stop the work for others
        if is_outage(error) or (connection.in_atomic_block and is_conflict(error)):
            raise
        logger.exception("%s failed%s; the others continue", what, "" if item is None else f" for {item}")
        return False
    return True


def is_outage(error: BaseException) -> bool:
    """Return whether the database is down or full, so that all work fails and not only this item."""
    return isinstance(error, (OperationalError, InterfaceError)) and not _has_state(error, OF_ONE_STATEMENT)


def may_pass(error: BaseException) -> bool:
    """Return whether the same work may succeed on a retry."""
    return isinstance(error, (OperationalError, InterfaceError)) and not _has_state(error, NOT_TO_BE_REPEATED)


def is_fault(error: BaseException) -> bool:
    """Return whether the work would fail again: neither a database outage nor the job's own signal."""
    return not isinstance(error, DurableError) and not may_pass(error)


def is_conflict(error: BaseException) -> bool:
    """Return whether the database rolled a transaction back because of a concurrent one."""
    return _has_state(error, CONFLICTS)


def _has_state(error: BaseException, prefixes: tuple[str, ...]) -> bool:
    state = getattr(error.__cause__, "sqlstate", None)
    return isinstance(state, str) and state.startswith(prefixes)


# --- connections ------------------------------------------------------------------------------------


class WaitInTransaction(RuntimeError):
    """A transaction is open and would stay open during an outside wait. Commit it first."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


@contextmanager
def outside_wait() -> Iterator[None]:
    """Return this thread's connections to the pool and mark the thread as waiting; raises WaitInTransaction."""
    for opened in _opened():
        if _in_transaction(opened):
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
    for opened in _opened():
        if not opened.in_atomic_block:
            opened.close()


def give_way() -> None:
    """Return this thread's connections if other threads are waiting for one."""
    for opened in _opened():
        pool = getattr(opened, "pool", None)
        if pool is not None and pool.get_stats().get("requests_waiting") and not opened.in_atomic_block:
            opened.close()


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
