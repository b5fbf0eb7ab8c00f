"""Giving an execution to another worker, and taking one up again that was stopped: an operator's means."""

from __future__ import annotations

import uuid

from durable.errors import IllegalMove
from durable.poke import poke
from durable.retrying import in_transaction
from executions.models import Execution
from executions.moves import move


def requeue(execution_id: uuid.UUID) -> bool:
    """Let another worker take it now; its present one is fenced by the next claim. One that was stopped goes on where
    it was: what had finished is not run again. False for what waits for a person or has ended by itself."""
    held = Execution.objects.filter(pk=execution_id, status=Execution.RUNNING)
    again = {"owner": "", "lease_until": None, "poked_at": Execution.clock.now()}
    if (
        not held.update(**again)
        and not Execution.objects.filter(pk=execution_id, status=Execution.QUEUED).exists()
    ):
        try:
            _take_up_again(execution_id)
        except IllegalMove:
            return False
    poke(Execution, execution_id)
    return True


@in_transaction
def _take_up_again(execution_id: uuid.UUID) -> None:
    """Only from TERMINATED, the one end the table lets go of."""
    stopped = Execution.objects.select_for_update(no_key=True).filter(
        pk=execution_id, status=Execution.CANCELLED
    )
    if not stopped.exists():
        raise IllegalMove
    move(
        execution_id,
        Execution.QUEUED,
        deliberate=True,
        cancel_requested_at=None,
        ended_at=None,
        end_reason="",
        error="",
        poked_at=Execution.clock.now(),
    )
