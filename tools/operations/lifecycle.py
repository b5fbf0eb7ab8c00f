"""The lifecycle of operations: what happens when one changes or ends."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings
from django.dispatch import Signal

from durable import event_log
from durable.lifecycle import Lifecycle
from executions.models import Review
from executions.reviews.decisions import withdraw_one
from tools.models import Operation, ToolCall
from tools.operations.abandonment import tell_later
from webhooks.deliveries import announce
from webhooks.events import EventType

UNOWNED_ENDS = {
    "cancelled": "The operation was cancelled.",
    "operator": "An operator ended the operation. It may have happened.",
    "worker_lost": "The operation was tried several times and its worker died each time. It may have happened.",
}
STATES = {Operation.COMPLETED: ToolCall.State.SUCCEEDED, Operation.CANCELLED: ToolCall.State.CANCELLED}
operation_ended = Signal()  # inside the transaction that ends it, so receivers' writes commit with it
operation_changed = Signal()  # status or progress, for display only; may be lost


class OperationLifecycle(Lifecycle[Operation]):
    def ended_unowned(self, job: Operation) -> None:
        """Give a reason to an operation that was cancelled before it ran, or given up."""
        if not job.error and job.status != job.COMPLETED:
            job.error = UNOWNED_ENDS.get(job.end_reason, UNOWNED_ENDS["cancelled"])
            job.save(update_fields=["error"])

    def ended(self, job: Operation) -> None:
        """Replace the pending result of its tool call, and let other packages change their rows."""
        ToolCall.objects.filter(key=job.key).update(
            state=STATES.get(job.status, ToolCall.State.FAILED),
            result=job.answer(),
            error="" if job.status == job.COMPLETED else job.error,
            ended_at=job.clock.now(),
        )
        if job.review_id is not None:
            for review in Review.objects.filter(pk=job.review_id, state=Review.State.WAITING):
                withdraw_one(review)
        operation_ended.send(sender=Operation, operation=job)
        announce_end(job)

    def after_end(self, job: Operation) -> None:
        notify_changed(job)
        tell_later(job)


def notify_changed(operation: Operation) -> None:
    """Notify clients and waiting code that the operation changed; failures are only logged."""
    event_log.nudge(operation.pk)
    operation_changed.send_robust(sender=Operation, operation=operation)


def announce_end(operation: Operation) -> None:
    """Queue the webhook in the transaction that ends the operation. Once per operation and endpoint."""
    announce(
        user_id=operation.user_id,
        event_type=EventType.OPERATION_FINISHED,
        subject_id=operation.pk,
        describe=partial(describe, operation),
    )


def describe(operation: Operation) -> dict[str, Any]:
    """Return the payload; its result is what the model sees, without secrets and with long parts cut."""
    return {
        "operation_id": str(operation.pk),
        "task_id": str(operation.task_id),
        "session_id": str(operation.session_id),
        "turn_id": str(operation.turn_id),
        "tool_name": operation.tool_name,
        "status": operation.status,
        "end_reason": operation.end_reason,
        "error": operation.error or None,
        "result": operation.result,
        "queued_at": operation.queued_at.isoformat(),
        "ended_at": operation.ended_at.isoformat() if operation.ended_at else None,
        "url": f"{settings.SITE_URL}/api/operations/{operation.pk}",
    }
