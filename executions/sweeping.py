"""What is looked after each second in every worker of the queue `executions`, besides the executions themselves."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any

from django.db import DatabaseError, InterfaceError, connection

from durable import guard
from durable.signals import swept
from executions.models import Execution
from executions.reviews.deciding import expire_due
from executions.schedules.running import run_late
from executions.triggers.delivering import start_late

logger = logging.getLogger(__name__)
WORK: tuple[Callable[[], object], ...] = (expire_due, start_late, run_late)


def connect() -> None:
    swept.connect(sweep, dispatch_uid="executions.sweep")


def sweep(queues: Collection[str], **kwargs: Any) -> None:
    """Do all of it; one that fails keeps no other one waiting, and is tried again in a second."""
    if Execution.queue not in queues:
        return
    for work in WORK:
        try:
            guard.try_one(work, what=f"The sweep {work.__name__}")
        except (DatabaseError, InterfaceError) as error:
            logger.warning("The sweep %s could not reach the database: %s", work.__name__, error)
            if not connection.in_atomic_block:
                connection.close()
