"""Push of changed executions to a user's open devices: hints, sent after the commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from durable import client_push, event_log
from executions import signals
from executions.models import Execution
from executions.redaction import hide


def execution_changed(execution: Execution, nodes: Sequence[dict[str, Any]] = ()) -> None:
    """Push the status of an execution and of the nodes that changed."""
    frame = {
        "id": str(execution.pk),
        "agent_id": str(execution.agent_id),
        "status": execution.public_status,
        "session_id": str(execution.session_id) if execution.session_id else None,
        "error": hide(execution.error, execution.secrets) or None,
        "nodes": list(nodes),
    }
    owner = f"user:{execution.user_id}"

    def push() -> None:
        client_push.push(owner, "execution.updated", **frame)
        event_log.nudge(execution.pk)  # wakes those who wait for it
        signals.execution_changed.send_robust(sender=type(execution), execution=execution, nodes=list(nodes))

    transaction.on_commit(push, robust=True)
