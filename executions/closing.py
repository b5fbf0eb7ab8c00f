"""What changes with the end of an execution: its open nodes, its parent, and those who want to hear of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings

from executions import signals
from executions.showing import hide
from webhooks.announcing import announce
from webhooks.events import EventType
from workspace.showing import KeepsNothing, show

if TYPE_CHECKING:
    from executions.models import Execution

SENTENCES = {
    "cancelled": "The run was stopped.",
    "operator": "An operator ended the run.",
    "worker_lost": "The run was tried several times and its worker died each time. Look at the node that was running.",
}


def close(execution: Execution) -> None:
    """Inside the transaction that ends it."""
    still_open = execution.nodes.filter(ended_at=None)
    still_open.update(status=execution.CANCELLED, ended_at=execution.clock.now(), waits_for="", wake_at=None)
    signals.execution_ended.send(sender=type(execution), execution=execution)
    announce(
        user_id=execution.user_id,
        event_type=EventType.EXECUTION_FINISHED,
        subject_id=execution.pk,
        describe=lambda: describe(execution),
    )


def close_unowned(execution: Execution) -> None:
    """No attempt could say why it ended."""
    if not execution.error:
        execution.error = SENTENCES.get(execution.end_reason, SENTENCES["cancelled"])
        execution.save(update_fields=["error"])


def describe(execution: Execution) -> dict[str, Any]:
    """The outputs as people see them: long parts cut, secrets blotted out."""
    return {
        "execution_id": str(execution.pk),
        "agent_id": str(execution.agent_id),
        "version": execution.version,
        "source": execution.source,
        "status": execution.status,
        "end_reason": execution.end_reason,
        "error": hide(execution.error, execution.secrets) or None,
        "outputs": show(hide(execution.outputs, execution.secrets), KeepsNothing(), name="outputs"),
        "cost": str(execution.cost),
        "queued_at": execution.queued_at.isoformat(),
        "ended_at": execution.ended_at.isoformat() if execution.ended_at else None,
        "url": f"{settings.SITE_URL}/api/executions/{execution.pk}",
    }
