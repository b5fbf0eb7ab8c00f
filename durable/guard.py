"""Work piece by piece, where one bad piece must not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from durable.errors import DurableError

T = TypeVar("T")
R = TypeVar("R")
logger = logging.getLogger(__name__)

# What PostgreSQL says of one statement rather than of itself: a deadlock or a conflict, a lock that was not to be
# had, a limit of its own that a value exceeds, a statement that took too long.
OF_ONE_STATEMENT = ("40", "55", "54", "57014")
NOT_TO_BE_REPEATED = ("54",)
CONFLICTS = ("40001", "40P01")  # serialization_failure, deadlock_detected


def run_each(items: Iterable[T], work: Callable[[T], R], *, what: str) -> list[R]:
    """Call `work` for each item and return what it returned, where it did.

    An item that raises is logged with its traceback and left for the next time. A database that is away is raised:
    the items behind would only fail for the same reason.
    """
    results: list[R] = []
    for item in items:
        try_one(lambda item=item: results.append(work(item)), what=what, item=item)  # type: ignore[misc]
    return results


def try_one(work: Callable[[], object], *, what: str, item: object = None) -> bool:
    """Call `work`; False, and a line in the log, when it raised.

    Raises when the database is away, and inside a transaction when that was the victim of a deadlock: its owner
    starts it again, and nothing of it is left out.
    """
    try:
        work()
    except Exception as error:  # one person's row must not stop what is done for the others
        if is_outage(error) or (connection.in_atomic_block and is_conflict(error)):
            raise
        logger.exception("%s failed%s; the others go on", what, "" if item is None else f" for {item}")
        return False
    return True


def is_outage(error: BaseException) -> bool:
    """Whether the database is away or full, so that all work on it fails and not only this piece."""
    return isinstance(error, (OperationalError, InterfaceError)) and not _has_state(error, OF_ONE_STATEMENT)


def may_pass(error: BaseException) -> bool:
    """Whether the same work may succeed when it is tried again."""
    return isinstance(error, (OperationalError, InterfaceError)) and not _has_state(error, NOT_TO_BE_REPEATED)


def is_fault(error: BaseException) -> bool:
    """Whether it will fail in the same way again: neither the database's trouble nor the job's own word."""
    return not isinstance(error, DurableError) and not may_pass(error)


def is_conflict(error: BaseException) -> bool:
    """Whether the database rolled a transaction back because of another one at work at the same time."""
    return _has_state(error, CONFLICTS)


def _has_state(error: BaseException, prefixes: tuple[str, ...]) -> bool:
    state = getattr(error.__cause__, "sqlstate", None)
    return isinstance(state, str) and state.startswith(prefixes)
