"""The record of one operation, which is also its place in the queue."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.db import models

from boundary import taint
from durable import log
from durable.models import Job
from tools.models.call import ToolCall
from tools.operations import announcing
from tools.operations.signals import operation_changed, operation_ended

OUTSIDE_SERVICE = "an outside service"
WORKER = "worker"  # completed_by: this site's own


class Operation(Job):
    """A long-running tool call. `key` is that of the call: the same call never becomes two operations.

    Whoever ends it (its worker, an outside service, a cancel, the sweep) does so through the job's own conditional
    UPDATE, so `ended` happens once, whatever is delivered how often.
    """

    COMPLETED: ClassVar[str] = "completed"
    task_name = "tools.run_operation"
    queue = "operations"

    key = models.CharField(max_length=255, unique=True)
    task_id = models.UUIDField(default=uuid.uuid4, unique=True, help_text="The name outside services know.")
    session_id = models.UUIDField()
    turn_id = models.UUIDField()
    step = models.PositiveIntegerField()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    call_id = models.TextField()
    tool_name = models.CharField(max_length=128)
    arguments = models.JSONField()
    fingerprint = models.CharField(max_length=64, help_text="Tells the same call asked for again.")
    permissions = models.JSONField(default=dict, help_text="What the call was permitted when it was made.")
    outside_sources = models.JSONField(
        default=list, db_default=[], blank=True, help_text="What its turn had read from outside."
    )
    begun = models.BooleanField(
        default=False, help_text="The tool's function was called; after a crash: in doubt."
    )
    progress = models.FloatField(default=0.0)
    message = models.TextField(blank=True, default="")
    result = models.JSONField(null=True, blank=True)
    external = models.BooleanField(
        default=False, help_text="Accepted by an outside service, which will answer."
    )
    answer_due_at = models.DateTimeField(
        null=True, blank=True, help_text="Until when the outside service may take."
    )
    outside_answer = models.JSONField(
        null=True, blank=True, help_text="What that service said, until the tool has made a result of it."
    )
    completed_by = models.CharField(max_length=16, blank=True, default="")

    class Meta(Job.Meta):
        abstract = False
        indexes = [
            *Job.Meta.indexes,
            models.Index(fields=["session_id", "status"], name="tools_operation_of_session"),
            models.Index(fields=["turn_id"], name="tools_operation_of_turn"),
        ]

    def log_context(self) -> dict[str, Any]:
        return super().log_context() | {"session_id": str(self.session_id), "tool": self.tool_name}

    @property
    def content_sources(self) -> taint.Sources:
        """Where its result came from, as far as that is not this site: its turn's content, an outside service."""
        outside = [OUTSIDE_SERVICE] if self.completed_by not in ("", WORKER) else []
        return taint.merge(self.outside_sources, outside)

    def answer(self) -> dict[str, Any]:
        """What the model is told, in place of "it was started"."""
        about = {"session_id": str(self.session_id), "operation_id": str(self.pk)}
        if self.status == self.COMPLETED:
            result = self.result if isinstance(self.result, dict) else {"result": self.result}
            return (
                {"type": "operation_completed", "message": f"{self.tool_name} has finished."} | result | about
            )
        failure: dict[str, Any] = {
            "type": "error",
            "error": self.end_reason or "failed",
            "message": self.error,
        }
        if self.end_reason in ("interrupted", "worker_lost"):
            failure["may_have_happened"] = True
        known = self.result if isinstance(self.result, dict) else {}  # what a failed tool had made
        return known | failure | about

    def ended_unowned(self) -> None:
        """Cancelled before it ran, or given up: nobody has said why."""
        if not self.error and self.status != self.COMPLETED:
            self.error = UNOWNED_ENDS.get(self.end_reason, UNOWNED_ENDS["cancelled"])
            self.save(update_fields=["error"])

    def ended(self) -> None:
        """Put the result in the place of the pending one, and let others write what belongs to it."""
        state = {
            self.COMPLETED: ToolCall.State.SUCCEEDED,
            self.CANCELLED: ToolCall.State.CANCELLED,
        }.get(self.status, ToolCall.State.FAILED)
        error = "" if self.status == self.COMPLETED else self.error
        ToolCall.objects.filter(key=self.key).update(
            state=state, result=self.answer(), error=error, ended_at=self.clock.now()
        )
        operation_ended.send(sender=type(self), operation=self)
        announcing.announce_end(self)

    def after_end(self) -> None:
        self.tell_changed()

    def tell_changed(self) -> None:
        """Let devices, and whoever watches its row, know how far it is; nobody's failure to hear it matters."""
        log.nudge(self.pk)
        operation_changed.send_robust(sender=type(self), operation=self)


UNOWNED_ENDS = {
    "cancelled": "The operation was cancelled.",
    "operator": "An operator ended the operation. It may have happened.",
    "worker_lost": "The operation was tried several times and its worker died each time. It may have happened.",
}


def find_operation(
    *, operation_id: str | uuid.UUID | None = None, task_id: str | uuid.UUID | None = None
) -> Operation | None:
    """By either of its names; None also for what is no UUID at all."""
    for field, value in (("pk", operation_id), ("task_id", task_id)):
        try:
            wanted = uuid.UUID(str(value)) if value else None
        except ValueError:
            continue
        if wanted is not None and (found := Operation.objects.filter(**{field: wanted}).first()):
            return found
    return None
