"""Stopping an operation."""

from __future__ import annotations

import uuid

from durable import cancelling, limits
from durable.cancelling import CancelAnswer
from tools.models import Operation


def cancel(operation_id: uuid.UUID) -> CancelAnswer:
    """Stop it in any state and wait until it has stopped."""
    return cancelling.cancel(Operation, operation_id, seconds=limits.OPERATION_CANCEL_SECONDS, stop=stop)


def stop(operation_id: uuid.UUID) -> bool:
    """Ask for the stop without waiting for it; False when the operation had ended."""
    return cancelling.stop(Operation, operation_id)


def stop_all(session_id: uuid.UUID) -> None:
    """Ask everything a session has started to stop; for a session that is about to be deleted."""
    live = Operation.live().filter(session_id=session_id)
    for operation_id in live.values_list("pk", flat=True):
        stop(operation_id)
