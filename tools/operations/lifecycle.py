"""The lifecycle of operations: what happens when one changes or ends."""

from __future__ import annotations

from durable import event_log
from durable.lifecycle import Lifecycle
from tools.models import Operation, ToolCall
from tools.operations import webhook_payloads
from tools.operations.signals import operation_changed, operation_ended

UNOWNED_ENDS = {
    "cancelled": "The operation was cancelled.",
    "operator": "An operator ended the operation. It may have happened.",
    "worker_lost": "The operation was tried several times and its worker died each time. It may have happened.",
}
STATES = {Operation.COMPLETED: ToolCall.State.SUCCEEDED, Operation.CANCELLED: ToolCall.State.CANCELLED}


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
        operation_ended.send(sender=Operation, operation=job)
        webhook_payloads.announce_end(job)

    def after_end(self, job: Operation) -> None:
        notify_changed(job)


def notify_changed(operation: Operation) -> None:
    """Notify clients and waiting code that the operation changed; failures are only logged."""
    event_log.nudge(operation.pk)
    operation_changed.send_robust(sender=Operation, operation=operation)
