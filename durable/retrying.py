"""Transactions that outlive a short outage of the database."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

T = TypeVar("T")
logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0


def retry_database(work: Callable[[], T], *, seconds: float) -> T:
    """Run `work` again, with jitter, while the database is away, at most that long; `work` may run twice."""
    if (
        connection.in_atomic_block
    ):  # an outer transaction is broken by the error; only its owner can start again
        return work()
    deadline = time.monotonic() + seconds
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return work()
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() + pause > deadline:
                raise
            logger.warning("The database does not answer, trying again: %s", error)
            connection.close()
            time.sleep(random.uniform(pause / 2, pause))  # noqa: S311
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
