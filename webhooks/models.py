"""Webhook endpoints and deliveries; push subscriptions and notices."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from durable.ids import new_id
from durable.models import Job
from webhooks import limits
from webhooks.events import EventType, NoticeKind


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


class VapidKey(models.Model):
    """The site's key pair for Web Push, made once; the private key is stored encrypted. There is one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    public_key = models.TextField(help_text="As browsers take it (applicationServerKey).")
    sealed_private_key = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return "VAPID key"


class PushSubscription(models.Model):
    """A browser that takes a user's notifications while no page is open. Its address is a secret of the browser."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    endpoint_hash = models.CharField(max_length=64, unique=True, editable=False)
    sealed_address = models.TextField(
        editable=False, help_text="Endpoint and keys of the browser, encrypted."
    )
    host = models.CharField(max_length=255, help_text="The push service it uses.")
    name = models.CharField(max_length=100, blank=True, default="")
    language = models.CharField(max_length=8, default="en")
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(help_text="When a page was last open there.")

    class Meta:
        ordering = ["-used_at"]

    def __str__(self) -> str:
        return self.name or f"Push subscription {self.pk}"


class NotificationSettings(models.Model):
    """What a user is notified of, and when not."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    answers = models.BooleanField(default=True, help_text="An answer is ready.")
    questions = models.BooleanField(default=True, help_text="The copilot asks something.")
    reviews = models.BooleanField(default=True, help_text="An approval is needed.")
    runs = models.BooleanField(default=True, help_text="A run of an agent has ended.")
    quiet_from = models.TimeField(null=True, blank=True, help_text="In the user's time zone.")
    quiet_until = models.TimeField(null=True, blank=True)
    all_devices = models.BooleanField(
        default=False, help_text="Push to every device instead of the one that was used last."
    )

    class Meta:
        verbose_name_plural = "notification settings"

    def __str__(self) -> str:
        return f"notification settings of user {self.user_id}"

    def wants(self, kind: str) -> bool:
        """Return whether the user wants to hear of this kind."""
        switch = NOTICE_SWITCHES.get(kind)
        return switch is None or bool(getattr(self, switch))


NOTICE_SWITCHES = {
    NoticeKind.ANSWER.value: "answers",
    NoticeKind.QUESTION.value: "questions",
    NoticeKind.REVIEW.value: "reviews",
    NoticeKind.RUN.value: "runs",
}


class PushNotice(Job):
    """One event that a person is to hear of once: in a page that is open, or by Web Push after a short wait.

    `event_id` is unique per user, so an event that is announced twice, or claimed by several pages, is one notice.
    """

    COMPLETED: ClassVar[str] = "completed"
    task_name = "webhooks.push"
    queue = "webhooks"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    event_id = models.CharField(max_length=64)
    kind = models.CharField(max_length=16, choices=NoticeKind.choices)
    subject = models.CharField(
        max_length=200, blank=True, default="", help_text="The name of what it is about."
    )
    url = models.CharField(max_length=200, help_text="The page to open, a path of this site.")
    seen_at = models.DateTimeField(
        null=True, blank=True, help_text="When a page showed it, or it was settled."
    )
    delivered_to = models.JSONField(default=list, help_text="Ids of the subscriptions it was sent to.")
    tries = models.PositiveIntegerField(default=0)

    class Meta(Job.Meta):
        abstract = False
        constraints = [
            models.UniqueConstraint(fields=["user", "event_id"], name="webhooks_one_notice_per_event")
        ]
        indexes = [*Job.Meta.indexes]

    def log_context(self) -> dict[str, Any]:
        return super().log_context() | {"kind": self.kind, "user_id": self.user_id}

    @property
    def joins_trace(self) -> bool:
        """Quiet hours may lie between the event and its notification."""
        return False
