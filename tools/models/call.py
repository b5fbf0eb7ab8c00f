"""The record of every tool call, written before it runs and when it ends."""

from __future__ import annotations

import hashlib
import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from durable.ids import new_id
from tools import limits
from tools.base import Effect


class ToolCall(models.Model):
    """One tool call of the model. `key` is unique: the same call is never recorded twice."""

    class State(models.TextChoices):
        PENDING = "pending"  # recorded, not started
        STARTED = "started"  # may be running; after a crash: in doubt
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"
        INTERRUPTED = "interrupted"  # was in doubt and could not be repeated

    FINISHED = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.INTERRUPTED})

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    key = models.CharField(max_length=255, unique=True)
    turn_id = models.UUIDField()
    session_id = models.UUIDField()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    step = models.PositiveIntegerField()
    index = models.PositiveIntegerField(help_text="Its place among the calls of the step.")
    call_id = models.TextField()
    name = models.CharField(max_length=128)
    arguments = models.JSONField(help_text="An object, or the text as it came when it could not be read.")
    effect = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in Effect])
    state = models.CharField(max_length=16, choices=State.choices, default=State.PENDING)
    result = models.JSONField(null=True, blank=True)
    attempt = models.PositiveIntegerField(help_text="The turn's attempt that ran it last.")
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, default="")

    class Meta:
        indexes = [
            models.Index(fields=["turn_id", "step", "index"], name="tools_call_of_turn"),
            models.Index(fields=["session_id", "name", "state"], name="tools_call_of_session"),
            models.Index(fields=["ended_at"], condition=Q(ended_at__isnull=False), name="tools_call_end"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.key}"

    @property
    def is_finished(self) -> bool:
        return self.state in self.FINISHED


def call_key(turn_id: uuid.UUID, step: int, call_id: str) -> str:
    """Return the idempotency key of a call; a long or unprintable id is replaced by its digest."""
    plain = 0 < len(call_id) <= limits.MAX_CALL_ID_CHARACTERS and call_id.isprintable()
    if not plain:
        call_id = "sha256-" + hashlib.sha256(call_id.encode(errors="surrogatepass")).hexdigest()
    return f"{turn_id}:{step}:{call_id}"


def calls_of(turn_id: uuid.UUID, step: int | None = None) -> models.QuerySet[ToolCall]:
    """Return the calls of a turn, or of one of its steps, in the order of the model's requests."""
    calls = ToolCall.objects.filter(turn_id=turn_id).order_by("step", "index")
    return calls if step is None else calls.filter(step=step)


def was_called(session_id: uuid.UUID, name: str) -> bool:
    """Return whether this session has called that tool successfully; only recorded calls count, never text."""
    succeeded = ToolCall.State.SUCCEEDED
    return ToolCall.objects.filter(session_id=session_id, name=name, state=succeeded).exists()
