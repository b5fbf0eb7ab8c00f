"""What happens when an execution may start and when it ends."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from durable.lifecycle import Lifecycle
from durable.publisher import poke
from executions import admission, notifications, signals
from executions.models import Execution
from executions.redaction import hide
from webhooks.deliveries import announce
from webhooks.events import EventType
from workspace.preview import KeepsNothing, show

SENTENCES = {
    "cancelled": "The run was stopped.",
    "operator": "An operator ended the run.",
    "worker_lost": "The run was tried several times and its worker died each time. Check the node that was running.",
}


class ExecutionLifecycle(Lifecycle[Execution]):
    def admit(self, job_id: uuid.UUID) -> bool:
        return admission.may_start(job_id)

    def startable(self, queued: QuerySet[Any]) -> QuerySet[Any]:
        return admission.startable(queued)

    def ended_unowned(self, job: Execution) -> None:
        close_unowned(job)

    def ended(self, job: Execution) -> None:
        close(job)

    def after_end(self, job: Execution) -> None:
        """Notify clients, and poke the user's next execution that may start now."""
        notifications.execution_changed(job)
        for execution_id in admission.next_of(job):
            poke(Execution, execution_id)


def close(execution: Execution) -> None:
    """Close its open nodes and announce the end, inside the transaction that ends it."""
    still_open = execution.nodes.filter(ended_at=None)
    still_open.update(status=execution.CANCELLED, ended_at=execution.clock.now(), waits_for="", wake_at=None)
    signals.execution_ended.send(sender=type(execution), execution=execution)
    announce(
        user_id=execution.user_id,
        event_type=EventType.EXECUTION_FINISHED,
        subject_id=execution.pk,
        describe=lambda: describe(execution),
    )
    notifications.announce_end(execution)


def close_unowned(execution: Execution) -> None:
    """Set the error of an execution that no attempt could end."""
    if not execution.error:
        execution.error = SENTENCES.get(execution.end_reason, SENTENCES["cancelled"])
        execution.save(update_fields=["error"])


def describe(execution: Execution) -> dict[str, Any]:
    """Return the payload of `execution.finished`: long values cut, secrets redacted."""
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
