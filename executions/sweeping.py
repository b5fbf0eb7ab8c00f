"""What is looked after each second in every worker of the queue `executions`, besides the executions themselves."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any

from django.db import DatabaseError, InterfaceError, connection

from durable.signals import swept
from executions.models import Execution
from executions.reviews.deciding import expire_due

logger = logging.getLogger(__name__)
WORK: tuple[Callable[[], object], ...] = (expire_due,)


def connect() -> None:
    swept.connect(sweep, dispatch_uid="executions.sweep")


def sweep(queues: Collection[str], **kwargs: Any) -> None:
    """Do all of it; one that fails keeps no other one waiting, and is tried again in a second."""
    if Execution.queue not in queues:
        return
    for work in WORK:
        try:
            work()
        except (DatabaseError, InterfaceError) as error:
            logger.warning("The sweep %s could not reach the database: %s", work.__name__, error)
            connection.close()
