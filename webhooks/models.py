"""Where a person wants to be told of things, and each telling."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from durable import limits
from durable.ids import new_id
from durable.models import Job
from durable.poke import poke
from webhooks.events import EventType


class WebhookEndpoint(models.Model):
    """An address of the outside that one user wants told. Its secret is sealed; only its owner ever saw it."""

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
    """One event for one endpoint: a small job that waits between its tries.

    `event_id` goes out as `webhook-id`, the same in every try; with the endpoint it is unique, so an event that is
    announced twice is delivered once.
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
        """Its tries may go on for days after what it tells of has ended."""
        return False

    # --- who may start: a slow receiver holds up its owner's other deliveries, never anybody else's ------

    @classmethod
    def admit(cls, job_id: uuid.UUID) -> bool:
        """While its user has room. Holds the user's endpoints, so that two at once cannot both be the last."""
        owners = WebhookEndpoint.objects.filter(deliveries=job_id).values("user")
        endpoints = (
            WebhookEndpoint.objects.filter(user__in=owners).order_by("pk").select_for_update(no_key=True)
        )
        ids = [endpoint.pk for endpoint in endpoints]
        busy = cls.live().filter(endpoint__in=ids, status=cls.RUNNING).exclude(pk=job_id).count()
        return busy < limits.WEBHOOKS_AT_ONCE_PER_USER

    @classmethod
    def startable(cls, queued: models.QuerySet[Any]) -> models.QuerySet[Any]:
        running = cls.live().filter(endpoint__user=OuterRef("endpoint__user"), status=cls.RUNNING).order_by()
        count = Subquery(running.values("endpoint__user").annotate(n=Count("pk")).values("n"))
        counted: models.QuerySet[Any] = queued.annotate(running_of_user=Coalesce(count, 0))
        return counted.filter(running_of_user__lt=limits.WEBHOOKS_AT_ONCE_PER_USER)

    # --- hooks of the job -------------------------------------------------------------------------

    def ended_unowned(self) -> None:
        """Only a worker that died again and again leaves it to others to end it."""
        self.error = "It was tried several times and its worker died each time. It may have arrived."
        self.save(update_fields=["error"])

    def after_end(self) -> None:
        """There is room for another one of this user's."""
        same_user = WebhookDelivery.live().filter(endpoint__user=self.endpoint.user_id)
        waiting = same_user.filter(status=self.QUEUED).order_by("queued_at").values_list("pk", flat=True)
        for delivery_id in waiting[:1]:
            poke(WebhookDelivery, delivery_id)
