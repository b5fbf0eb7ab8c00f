"""News of executions for a person's open devices; hints, sent after the commit they speak of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import transaction

from durable import doorbell, log
from executions import signals
from executions.showing import hide

if TYPE_CHECKING:
    from executions.models import Execution


def execution_changed(execution: Execution, nodes: Sequence[dict[str, Any]] = ()) -> None:
    """Tell that it was queued, began, waits or ended, and what its nodes are at."""
    frame = {
        "id": str(execution.pk),
        "agent_id": str(execution.agent_id),
        "status": execution.status,
        "session_id": str(execution.session_id) if execution.session_id else None,
        "error": hide(execution.error, execution.secrets) or None,
        "nodes": list(nodes),
    }
    owner = f"user:{execution.user_id}"

    def tell() -> None:
        doorbell.ring(owner, "execution.updated", **frame)
        log.nudge(execution.pk)  # who waits for it looks how far it is
        signals.execution_changed.send_robust(sender=type(execution), execution=execution, nodes=list(nodes))

    transaction.on_commit(tell, robust=True)
