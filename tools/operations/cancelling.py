"""Stopping an operation."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from durable import bell, jobs, limits
from durable.waiting import wait_for
from tools.models import Operation


@dataclass(frozen=True, kw_only=True)
class CancelAnswer:
    """Whether the operation was stopped, and why not."""

    cancelled: bool
    reason: str = ""


def cancel(operation_id: uuid.UUID) -> CancelAnswer:
    """Stop it in any state and wait until it has stopped. Truthful: one that had ended stays as it ended."""
    if stop(operation_id):
        ended = wait_for(operation_id, lambda: end_of(operation_id), seconds=limits.OPERATION_CANCEL_SECONDS)
        if ended is None:
            jobs.force_cancel(Operation, operation_id)  # its worker does not answer; the fence keeps it out
        if end_of(operation_id) == Operation.CANCELLED:
            return CancelAnswer(cancelled=True)
    already = end_of(operation_id) == Operation.CANCELLED
    return CancelAnswer(cancelled=already, reason="already_cancelled" if already else "already_ended")


def stop(operation_id: uuid.UUID) -> bool:
    """Ask for the stop without waiting for it; False when the operation had ended."""
    asked = jobs.request_cancel(Operation, operation_id)
    if asked:
        bell.ring(operation_id)
    return asked


def end_of(operation_id: uuid.UUID) -> str | None:
    status = Operation.objects.values_list("status", flat=True).get(pk=operation_id)
    return status if status in Operation.TERMINAL else None


def stop_all(session_id: uuid.UUID) -> None:
    """Ask everything a session has started to stop; for a session that is about to be deleted."""
    live = Operation.objects.filter(session_id=session_id).exclude(status__in=Operation.TERMINAL)
    for operation_id in live.values_list("pk", flat=True):
        stop(operation_id)
