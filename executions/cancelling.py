"""Stopping an execution, and everything it started."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Q

from durable import bell, jobs, limits
from durable.waiting import wait_for
from executions.models import Execution

PARKED = Q(status=Execution.RUNNING, owner="")  # waits without a worker


@dataclass(frozen=True, kw_only=True)
class CancelAnswer:
    """Whether the execution was stopped, and why not."""

    cancelled: bool
    reason: str = ""


def cancel(execution_id: uuid.UUID) -> CancelAnswer:
    """Stop it in any state and wait until it has stopped. Truthful: one that had ended stays as it ended."""
    if stop(execution_id):
        ended = wait_for(execution_id, lambda: end_of(execution_id), seconds=limits.EXECUTION_CANCEL_SECONDS)
        if ended is None:
            jobs.force_cancel(Execution, execution_id)  # its worker does not answer; the fence keeps it out
        if end_of(execution_id) == Execution.CANCELLED:
            return CancelAnswer(cancelled=True)
    already = end_of(execution_id) == Execution.CANCELLED
    return CancelAnswer(cancelled=already, reason="already_cancelled" if already else "already_ended")


def stop(execution_id: uuid.UUID) -> bool:
    """Ask for the stop without waiting for it; False when the execution had ended. Sub-agents follow its end."""
    asked = jobs.request_cancel(Execution, execution_id)
    if asked:
        jobs.end_unowned(
            Execution, execution_id, PARKED, status=Execution.CANCELLED, reason="cancelled"
        )  # one that nobody is at would not hear it
        bell.ring(execution_id)
    return asked


def end_of(execution_id: uuid.UUID) -> str | None:
    status = Execution.objects.values_list("status", flat=True).get(pk=execution_id)
    return status if status in Execution.TERMINAL else None


def stop_children(execution_id: uuid.UUID) -> None:
    """Ask the sub-agents of an execution that has ended to stop."""
    children = Execution.objects.filter(parent__execution_id=execution_id)
    for child_id in children.exclude(status__in=Execution.TERMINAL).values_list("pk", flat=True):
        stop(child_id)
