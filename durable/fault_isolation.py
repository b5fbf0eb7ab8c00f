"""Process items one by one so that one bad item does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from durable.errors import DurableError

T = TypeVar("T")
R = TypeVar("R")
logger = logging.getLogger(__name__)

# Errors of one statement rather than of the server: deadlock or conflict, lock not available, a limit exceeded,
# statement timeout.
OF_ONE_STATEMENT = ("40", "55", "54", "57014")
NOT_TO_BE_REPEATED = ("54",)
CONFLICTS = ("40001", "40P01")  # serialization_failure, deadlock_detected


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
