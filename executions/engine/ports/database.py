"""Database access of ports: retried through a short outage; a long one ends the attempt, not the block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError

from durable.connections import release
from durable.errors import LeaseLost
from durable.transactions import retry_database

T = TypeVar("T")


def persist(work: Callable[[], T]) -> T:
    """Run `work`, which may run twice; raises LeaseLost when the database is unavailable for the length of a lease.

    The connection is released at once, because what the block does next may take long.
    """
    try:
        return retry_database(work, seconds=float(settings.COPILOT_LEASE_SECONDS))
    except (OperationalError, InterfaceError) as error:
        raise LeaseLost from error
    finally:
        release()
