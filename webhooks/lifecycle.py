"""What happens when a delivery may start and when it ends.

A slow receiver holds up its owner's other deliveries, never anybody else's.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from durable.lifecycle import Lifecycle
from durable.publisher import poke
from webhooks import limits
from webhooks.models import PushNotice, WebhookDelivery, WebhookEndpoint


class DeliveryLifecycle(Lifecycle[WebhookDelivery]):
    def admit(self, job_id: uuid.UUID) -> bool:
        """Return whether its user has room. Locks the user's endpoints, so that no two claims take the last slot."""
        owners = WebhookEndpoint.objects.filter(deliveries=job_id).values("user")
        endpoints = WebhookEndpoint.objects.filter(user__in=owners).order_by("pk")
        ids = [endpoint.pk for endpoint in endpoints.select_for_update(no_key=True)]
        running = WebhookDelivery.live().filter(endpoint__in=ids, status=WebhookDelivery.RUNNING)
        return running.exclude(pk=job_id).count() < limits.WEBHOOKS_AT_ONCE_PER_USER

    def startable(self, queued: QuerySet[Any]) -> QuerySet[Any]:
        live = WebhookDelivery.live().filter(endpoint__user=OuterRef("endpoint__user"))
        running = live.filter(status=WebhookDelivery.RUNNING).order_by()
        count = Subquery(running.values("endpoint__user").annotate(n=Count("pk")).values("n"))
        counted: QuerySet[Any] = queued.annotate(running_of_user=Coalesce(count, 0))
        return counted.filter(running_of_user__lt=limits.WEBHOOKS_AT_ONCE_PER_USER)

    def ended_unowned(self, job: WebhookDelivery) -> None:
        """Explain the end: only a delivery whose worker died again and again is ended by others."""
        job.error = "It was tried several times and its worker died each time. It may have arrived."
        job.save(update_fields=["error"])

    def after_end(self, job: WebhookDelivery) -> None:
        """Poke the user's next delivery."""
        same_user = WebhookDelivery.live().filter(endpoint__user=job.endpoint.user_id)
        queued = same_user.filter(status=WebhookDelivery.QUEUED).order_by("queued_at")
        for delivery_id in queued.values_list("pk", flat=True)[:1]:
            poke(WebhookDelivery, delivery_id)


class NoticeLifecycle(Lifecycle[PushNotice]):
    def admit(self, job_id: uuid.UUID) -> bool:
        """Return whether its user has room: a slow push service holds up its own user only."""
        own = PushNotice.live().filter(user__in=PushNotice.objects.filter(pk=job_id).values("user"))
        running = own.filter(status=PushNotice.RUNNING).exclude(pk=job_id)
        return running.count() < limits.PUSHES_AT_ONCE_PER_USER

    def ended_unowned(self, job: PushNotice) -> None:
        """Explain the end: only a notice whose worker died again and again is ended by others."""
        job.error = "It was tried several times and its worker died each time. It may have arrived."
        job.save(update_fields=["error"])
