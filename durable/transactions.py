"""Transactions that are retried, after a short database outage or a lost deadlock."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction

from durable import limits
from durable.fault_isolation import is_conflict, may_pass

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0


def retry_database(work: Callable[[], T], *, seconds: float) -> T:
    """Retry `work` with jitter during a database outage, for at most `seconds`; `work` may run twice."""
    if connection.in_atomic_block:  # the error aborts an outer transaction; only its owner can retry
        return work()
    deadline = time.monotonic() + seconds
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return work()
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() + pause > deadline or not may_pass(error):
                raise
            logger.warning("The database does not answer, trying again: %s", error)
            connection.close()
            time.sleep(random.uniform(pause / 2, pause))  # noqa: S311
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


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
