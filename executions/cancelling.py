"""Stopping an execution, and everything it started."""

from __future__ import annotations

import uuid

from django.db.models import Q

from durable import cancelling, jobs, limits
from durable.cancelling import CancelAnswer
from executions.models import Execution

PARKED = Q(status=Execution.RUNNING, owner="")  # waits without a worker


def cancel(execution_id: uuid.UUID) -> CancelAnswer:
    """Stop it in any state and wait until it has stopped."""
    return cancelling.cancel(Execution, execution_id, seconds=limits.EXECUTION_CANCEL_SECONDS, stop=stop)


def stop(execution_id: uuid.UUID) -> bool:
    """Ask for the stop without waiting for it; False when the execution had ended. Sub-agents follow its end."""
    asked = cancelling.stop(Execution, execution_id)
    if asked:
        jobs.end_unowned(
            Execution, execution_id, PARKED, status=Execution.CANCELLED, reason="cancelled"
        )  # one that nobody is at would not hear it
    return asked


def stop_children(execution_id: uuid.UUID) -> None:
    """Ask the sub-agents of an execution that has ended to stop."""
    children = Execution.live().filter(parent__execution_id=execution_id)
    for child_id in children.values_list("pk", flat=True):
        stop(child_id)
