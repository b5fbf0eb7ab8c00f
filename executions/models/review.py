"""Reviews: questions to a person that an execution, or a block run in chat, waits for."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from durable.clock import CreatedAtField
from durable.ids import new_id
from executions.models.execution import Execution, NodeExecution


class Review(models.Model):
    """One question. `key` names what asks, so that asking again asks once."""

    class State(models.TextChoices):
        WAITING = "waiting"
        APPROVED = "approved"
        REJECTED = "rejected"
        EXPIRED = "expired"
        WITHDRAWN = "withdrawn"  # what asked has ended

    class Remember(models.TextChoices):
        ONCE = ""
        SESSION = "session"  # for the rest of the conversation
        ALWAYS = "always"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reviews")
    key = models.CharField(max_length=255, unique=True)
    execution = models.ForeignKey(
        Execution, on_delete=models.CASCADE, null=True, blank=True, related_name="reviews"
    )
    node = models.ForeignKey(
        NodeExecution,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="reviews",
        db_constraint=False,  # a run may ask before its row is written, which happens when it is suspended
    )
    session_id = models.UUIDField(null=True, blank=True, help_text="The conversation a block is run from.")
    block_id = models.CharField(max_length=200, blank=True, default="")
    name = models.CharField(max_length=500, help_text="What the person is asked.")
    data = models.JSONField(null=True)
    editable = models.BooleanField(default=False)
    outside_sources = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="The content from outside because of which it is asked.",
    )
    continued_by = models.CharField(
        max_length=255,
        blank=True,
        default="",
        db_default="",
        help_text="The call that does what was approved.",
    )
    tool_name = models.CharField(
        max_length=128,
        blank=True,
        default="",
        db_default="",
        help_text="The tool whose call is asked about. Its decision can be remembered.",
    )
    answer_schema = models.JSONField(
        null=True, blank=True, help_text="The form in which the data is filled in, if there is one."
    )
    remember = models.CharField(
        max_length=8,
        choices=Remember.choices,
        blank=True,
        default=Remember.ONCE,
        db_default="",
        help_text="For what else the decision counts.",
    )
    state = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    decided_data = models.JSONField(null=True, blank=True)
    message = models.TextField(blank=True, default="")
    asked_at = CreatedAtField()
    expires_at = models.DateTimeField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        indexes = [
            models.Index(fields=["user", "state", "-asked_at"], name="executions_review_open"),
            models.Index(fields=["state", "expires_at"], name="executions_review_expiry"),
        ]

    def __str__(self) -> str:
        return self.name
