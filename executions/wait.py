"""Waiting for an execution, race-free and with a deadline."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from durable.stop_signal import StopSignal
from durable.wait import wait_for
from executions import limits
from executions.models import Execution
from executions.models.status import PublicStatus


def has_news(execution: Execution) -> bool:
    """Return whether it has ended or asks a person."""
    return execution.is_terminal or execution.public_status == PublicStatus.REVIEW


def execution_with_news(execution_id: uuid.UUID) -> Execution | None:
    """Return the execution if it has ended or asks a person, else None. Raises Execution.DoesNotExist."""
    found = Execution.objects.get(pk=execution_id)
    return found if has_news(found) else None


def wait_for_execution(
    execution_id: uuid.UUID,
    seconds: float,
    stop: StopSignal | None = None,
    seen: Callable[[Execution], None] = lambda execution: None,
) -> Execution:
    """Return the execution once it has ended or asks a person, or as it is when the time is over or `stop` is set.

    Subscribes before it reads the row; `seen` is called with each state read. Raises Execution.DoesNotExist.
    """

    def look() -> Execution | None:
        found = Execution.objects.get(pk=execution_id)
        seen(found)
        return found if has_news(found) else None

    if seconds <= 0:
        return Execution.objects.get(pk=execution_id)
    found = wait_for(execution_id, look, seconds=min(seconds, limits.MAX_TOOL_WAIT_SECONDS), stop=stop)
    return found or Execution.objects.get(pk=execution_id)
