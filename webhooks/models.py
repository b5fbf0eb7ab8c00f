"""Webhook endpoints and deliveries."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from durable.ids import new_id
from durable.models import Job
from webhooks import limits
from webhooks.events import EventType


class WebhookEndpoint(models.Model):
    """A URL to which a user's events are sent. Its secret is stored encrypted; only its owner has seen it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    url = models.CharField(max_length=limits.MAX_WEBHOOK_URL_CHARACTERS)
    description = models.CharField(max_length=200, blank=True, default="")
    events = models.JSONField(default=list, help_text="The kinds of events it is told of.")
    enabled = models.BooleanField(default=True)
    disabled_reason = models.TextField(blank=True, default="", help_text="Why it was switched off for it.")
    failing_since = models.DateTimeField(
        null=True, blank=True, help_text="The first failure after the last success."
    )
    sealed_secret = models.TextField()
    sealed_old_secret = models.TextField(blank=True, default="", help_text="The one before the last change.")
    old_secret_until = models.DateTimeField(
        null=True, blank=True, help_text="Until when that one signs as well."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.description or f"Webhook endpoint {self.pk}"


class WebhookDelivery(Job):
    """One event for one endpoint: a job that waits between its attempts.

    `event_id` is sent as `webhook-id` in every attempt. It is unique per endpoint, so an event that is announced twice
    is delivered once.
    """

    COMPLETED: ClassVar[str] = "completed"
    task_name = "webhooks.send"
    queue = "webhooks"

    endpoint = models.ForeignKey(WebhookEndpoint, on_delete=models.CASCADE, related_name="deliveries")
    event_id = models.CharField(max_length=64)
    event_type = models.CharField(max_length=32, choices=EventType.choices)
    payload = models.JSONField()
    tries = models.PositiveIntegerField(default=0)
    tried_at = models.DateTimeField(null=True, blank=True)
    response_status = models.PositiveIntegerField(null=True, blank=True)
    response_excerpt = models.TextField(blank=True, default="")

    class Meta(Job.Meta):
        abstract = False
        verbose_name_plural = "webhook deliveries"
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "event_id"], name="webhooks_one_delivery_per_event")
        ]
        indexes = [
            *Job.Meta.indexes,
            models.Index(fields=["endpoint", "-queued_at"], name="webhooks_delivery_log"),
            models.Index(
                fields=["endpoint", "status"],
                condition=Q(status__in=Job.LIVE),
                name="webhooks_delivery_live_of",
            ),
        ]

    def log_context(self) -> dict[str, Any]:
        return super().log_context() | {"event": self.event_type, "endpoint_id": str(self.endpoint_id)}

    @property
    def joins_trace(self) -> bool:
        """Attempts may continue for days after the trace of the event has ended."""
        return False
