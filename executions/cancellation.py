"""Cancellation of an execution and its sub-agents."""

from __future__ import annotations

import uuid

from django.db.models import Q

from durable import cancellation, jobs
from durable.cancellation import CancelAnswer
from executions import limits
from executions.models import Execution

UNHELD = Q(status=Execution.RUNNING, owner="")  # handed over: no worker would receive the request


def cancel(execution_id: uuid.UUID) -> CancelAnswer:
    """Cancel it in any state, wait until it has stopped, and return whether it did."""
    return cancellation.cancel(Execution, execution_id, seconds=limits.EXECUTION_CANCEL_SECONDS, stop=stop)


def stop(execution_id: uuid.UUID) -> bool:
    """Ask it to stop without waiting; return False if it had ended. Its sub-agents are stopped after its end."""
    asked = cancellation.stop(Execution, execution_id)
    if asked:
        jobs.end_unowned(Execution, execution_id, UNHELD, status=Execution.CANCELLED, reason="cancelled")
    return asked


def stop_children(execution_id: uuid.UUID) -> None:
    """Ask the sub-agents of an execution that has ended to stop."""
    children = Execution.live().filter(parent__execution_id=execution_id)
    for child_id in children.values_list("pk", flat=True):
        stop(child_id)
