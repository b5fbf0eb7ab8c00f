"""Operations: long-running tool calls as jobs."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from boundary import taint
from durable.models import Job

OUTSIDE_SERVICE = "an outside service"
WORKER = "worker"  # completed_by: this site's own


class Operation(Job):
    """A long-running tool call. It has the key of the call, so that the same call never becomes two operations.

    Its worker, an outside service, a cancellation or the sweep ends it through the job's conditional UPDATE, so
    `ended` runs once, however often a completion is delivered.
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
    for_client = models.BooleanField(
        default=False,
        db_default=False,
        help_text="A call of a tool that a client of the API defined: its next request brings the result.",
    )
    handle: Any = models.JSONField(
        null=True, blank=True, help_text="Work that goes on at an outside service, as its tool names it."
    )
    review_id = models.UUIDField(
        null=True, blank=True, help_text="What a person decides before it starts, or goes on."
    )
    completed_by = models.CharField(max_length=16, blank=True, default="")

    class Meta(Job.Meta):
        abstract = False
        indexes = [
            *Job.Meta.indexes,
            models.Index(fields=["session_id", "status"], name="tools_operation_of_session"),
            models.Index(fields=["turn_id"], name="tools_operation_of_turn"),
            models.Index(
                fields=["review_id"], condition=Q(review_id__isnull=False), name="tools_operation_of_review"
            ),
        ]

    def log_context(self) -> dict[str, Any]:
        return super().log_context() | {"session_id": str(self.session_id), "tool": self.tool_name}

    @property
    def content_sources(self) -> taint.Sources:
        """The third-party sources of its result: what its turn had read, and an outside service that completed it."""
        outside = [OUTSIDE_SERVICE] if self.completed_by not in ("", WORKER) else []
        return taint.merge(self.outside_sources, outside)

    def answer(self) -> dict[str, Any]:
        """Return the call's tool result: pending while the operation runs, then what replaces that."""
        about = {"session_id": str(self.session_id), "operation_id": str(self.pk)}
        if self.status == self.COMPLETED:
            result = self.result if isinstance(self.result, dict) else {"result": self.result}
            return (
                {"type": "operation_completed", "message": f"{self.tool_name} has finished."} | result | about
            )
        if not self.is_terminal:
            state = {
                "type": "operation_pending",
                "status": "accepted" if self.external else "pending",
                "message": self.message or f"{self.tool_name} is still running in the background.",
                "task_id": str(self.task_id),
                "tool_name": self.tool_name,
            }
            return state | about
        failure: dict[str, Any] = {
            "type": "error",
            "error": self.end_reason or "failed",
            "message": self.error,
        }
        if self.end_reason in ("interrupted", "worker_lost"):
            failure["may_have_happened"] = True
        known = self.result if isinstance(self.result, dict) else {}  # what a failed tool had made
        return known | failure | about


def find_operation(
    *, operation_id: str | uuid.UUID | None = None, task_id: str | uuid.UUID | None = None
) -> Operation | None:
    """Return the operation by either id; None also if neither is a UUID."""
    for field, value in (("pk", operation_id), ("task_id", task_id)):
        try:
            wanted = uuid.UUID(str(value)) if value else None
        except ValueError:
            continue
        if wanted is not None and (found := Operation.objects.filter(**{field: wanted}).first()):
            return found
    return None
