"""Cancel operations."""

from __future__ import annotations

import uuid

from durable import cancellation
from durable.cancellation import CancelAnswer
from tools import limits
from tools.models import Operation


def cancel(operation_id: uuid.UUID) -> CancelAnswer:
    """Cancel the operation in any state and wait until it has stopped."""
    return cancellation.cancel(Operation, operation_id, seconds=limits.OPERATION_CANCEL_SECONDS, stop=stop)


def stop(operation_id: uuid.UUID) -> bool:
    """Request cancellation without waiting; False if the operation had ended."""
    return cancellation.stop(Operation, operation_id)


def stop_all(session_id: uuid.UUID) -> None:
    """Request cancellation of all operations of a session that is about to be deleted."""
    live = Operation.live().filter(session_id=session_id)
    for operation_id in live.values_list("pk", flat=True):
        stop(operation_id)
