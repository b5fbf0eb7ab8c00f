"""Wait for an execution, and wake one that waits for something itself."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import F

from durable import event_log
from durable.database import after_commit, in_transaction
from durable.publisher import poke
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


@in_transaction
def wake(execution_id: uuid.UUID) -> None:
    """Make the execution look again; call it inside the transaction of what it waits for. Repeating it is harmless.

    The row stays locked until the commit, so an execution that is about to wait either sees the wake-up, or waits
    already and is resumed. A parent is woken too when its sub-agent no longer asks a person, to correct its status.
    """
    found = Execution.objects.select_for_update(of=("self",), no_key=True).filter(pk=execution_id).first()
    if found is None or found.is_terminal:
        return
    asks_person = found.public_status == PublicStatus.REVIEW
    changes: dict[str, Any] = {"wakes": F("wakes") + 1}
    if asks_person:
        changes |= {"status": Execution.QUEUED, "asks_person": False, "run_at": None}
    elif found.status == Execution.WAITING:
        changes |= {"run_at": Execution.clock.now()}  # it kept its place among those that run
    if found.owner or found.status == Execution.QUEUED:
        after_commit(event_log.nudge, execution_id)
    else:
        changes |= {"lease_until": None, "poked_at": Execution.clock.now()}
        after_commit(poke, Execution, execution_id)
    Execution.objects.filter(pk=execution_id).update(**changes)
    if asks_person and found.parent is not None:
        wake(found.parent.execution_id)
