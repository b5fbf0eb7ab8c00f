"""Wake-ups: tell an execution that what it waits for may have happened."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import F

from durable import event_log
from durable.after_commit import after_commit
from durable.poke import poke
from durable.transactions import in_transaction
from executions.models import Execution
from executions.models.status import PublicStatus


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
