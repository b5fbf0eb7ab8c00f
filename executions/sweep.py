"""The package's part of the sweep: expired reviews, late trigger calls and schedules, each second in every worker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any

from django.db import DatabaseError, InterfaceError, connection

from durable import fault_isolation
from durable.signals import swept
from executions.models import Execution
from executions.reviews.decisions import expire_due
from executions.schedules.run_due import run_late
from executions.triggers.dispatch import start_late

logger = logging.getLogger(__name__)
WORK: tuple[Callable[[], object], ...] = (expire_due, start_late, run_late)


def connect() -> None:
    swept.connect(sweep, dispatch_uid="executions.sweep")


def sweep(queues: Collection[str], **kwargs: Any) -> None:
    """Do all of it; one that fails does not stop the others and is tried again by the next sweep."""
    if Execution.queue not in queues:
        return
    for work in WORK:
        try:
            fault_isolation.try_one(work, what=f"The sweep {work.__name__}")
        except (DatabaseError, InterfaceError) as error:
            logger.warning("The sweep %s could not reach the database: %s", work.__name__, error)
            if not connection.in_atomic_block:
                connection.close()
