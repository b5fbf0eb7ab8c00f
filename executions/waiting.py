"""Waiting for an execution: race-free, with a deadline, and nothing is left behind."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from durable import limits
from durable.waiting import Stop, wait_for
from executions.models import Execution


def has_news(execution: Execution) -> bool:
    """Return whether there is nothing to wait for: it has ended, or it asks a person."""
    return execution.is_terminal or execution.status == Execution.WAITING


def execution_with_news(execution_id: uuid.UUID) -> Execution | None:
    """Return the execution if it has ended or asks a person, else None. Raises Execution.DoesNotExist."""
    found = Execution.objects.get(pk=execution_id)
    return found if has_news(found) else None


def wait_for_execution(
    execution_id: uuid.UUID,
    seconds: float,
    stop: Stop | None = None,
    seen: Callable[[Execution], None] = lambda execution: None,
) -> Execution:
    """The execution when it has ended or asks a person, or as it is when the time is over or `stop` was set.

    Subscribed and confirmed before the row is looked at; `seen` hears of each look. Raises Execution.DoesNotExist.
    """

    def look() -> Execution | None:
        found = Execution.objects.get(pk=execution_id)
        seen(found)
        return found if has_news(found) else None

    if seconds <= 0:
        return Execution.objects.get(pk=execution_id)
    found = wait_for(execution_id, look, seconds=min(seconds, limits.MAX_TOOL_WAIT_SECONDS), stop=stop)
    return found or Execution.objects.get(pk=execution_id)
