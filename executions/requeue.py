"""Requeueing by an operator: give an execution to another worker, or resume a cancelled one."""

from __future__ import annotations

import uuid
from typing import Any

from durable.database import in_transaction
from durable.errors import IllegalMove
from durable.publisher import poke
from executions.models import Execution


def requeue(execution_id: uuid.UUID) -> bool:
    """Let another worker claim it now; return False if it waits for a person or has ended.

    The next claim fences the worker that has it. One that was stopped goes on where it was: what had finished is not
    run again.
    """
    rows = Execution.objects.filter(pk=execution_id)
    now = Execution.clock.now()
    if not (
        rows.filter(status=Execution.RUNNING).update(owner="", lease_until=None, poked_at=now)
        or rows.filter(status=Execution.WAITING, asks_person=False).update(run_at=now, poked_at=now)
        or rows.filter(status=Execution.QUEUED).exists()
    ):
        try:
            _take_up_again(execution_id)
        except IllegalMove:
            return False
    poke(Execution, execution_id)
    return True


@in_transaction
def _take_up_again(execution_id: uuid.UUID) -> None:
    """Queue a cancelled execution again; raises IllegalMove for any other."""
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


def move(execution_id: uuid.UUID, status: str, *, deliberate: bool = False, **changes: Any) -> None:
    """Change a status as `Execution.MOVES` allows, in one conditional UPDATE; raises IllegalMove.

    A status that is final changes only deliberately. Attempts change it through their lease instead.
    """
    allowed = Execution.MOVES.get(status, frozenset())
    if not deliberate:
        allowed -= Execution.TERMINAL
    moved = Execution.objects.filter(pk=execution_id, status__in=allowed).update(status=status, **changes)
    if not moved:
        raise IllegalMove(f"The execution cannot become {status} from its current status.")
