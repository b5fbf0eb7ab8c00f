"""Telling an execution that what it waits for may have happened: a decision, the end of another job."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import F

from durable import log
from durable.after_commit import after_commit
from durable.poke import poke
from durable.retrying import in_transaction
from executions.models import Execution


def resume(execution_id: uuid.UUID) -> None:
    """A person has decided: the execution goes on. Call it inside the transaction that decides."""
    wake(execution_id)


@in_transaction
def wake(execution_id: uuid.UUID) -> None:
    """Have the execution look again. Call it inside the transaction of what it waits for; once is enough, more is
    harmless.

    It holds the row's lock until the commit, so an execution that is about to wait either sees what happened, or
    waits already and is called back: there is no moment between. One that waits for a sub-agent that goes on is
    told too, so that its own status is true.
    """
    found = Execution.objects.select_for_update(of=("self",), no_key=True).filter(pk=execution_id).first()
    if found is None or found.is_terminal:
        return
    is_parked = found.status == Execution.RUNNING and not found.owner
    changes: dict[str, Any] = {"wakes": F("wakes") + 1}
    if found.status == Execution.WAITING:
        changes |= {"status": Execution.QUEUED, "run_at": None, "poked_at": Execution.clock.now()}
    elif is_parked:
        changes |= {"lease_until": None, "poked_at": Execution.clock.now()}
    Execution.objects.filter(pk=execution_id).update(**changes)
    if is_parked or found.status == Execution.WAITING:
        after_commit(poke, Execution, execution_id)
    else:
        after_commit(log.nudge, execution_id)
    if found.status == Execution.WAITING and found.parent is not None:
        wake(found.parent.execution_id)
