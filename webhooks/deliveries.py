"""Actions on deliveries: send a test, replay one, delete old ones."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.utils import timezone

from durable.ids import new_id
from durable.transactions import in_transaction
from webhooks import limits
from webhooks.enqueue import new_delivery, poke_on_commit
from webhooks.errors import EndpointDisabled, StillOnItsWay
from webhooks.events import EventType, event_id, payload
from webhooks.models import WebhookDelivery, WebhookEndpoint
from workspace import limits as workspace_limits


def send_test(endpoint: WebhookEndpoint) -> WebhookDelivery:
    """Queue a test event, which is attempted once; raises EndpointDisabled."""
    if not endpoint.enabled:
        raise EndpointDisabled
    data = {"endpoint_id": str(endpoint.pk), "message": "This is a test. Nothing has happened."}
    name = event_id(EventType.TEST, new_id())
    delivery = new_delivery(endpoint, EventType.TEST, name, payload(EventType.TEST, timezone.now(), data))

    @in_transaction
    def insert() -> None:
        delivery.save(force_insert=True)
        poke_on_commit([delivery.pk])

    insert()
    return delivery


def replay(delivery: WebhookDelivery) -> WebhookDelivery:
    """Send an ended delivery again with the same `webhook-id`; raises EndpointDisabled or StillOnItsWay.

    Of two concurrent replays, the second raises StillOnItsWay.
    """
    if not WebhookEndpoint.objects.filter(pk=delivery.endpoint_id, enabled=True).exists():
        raise EndpointDisabled
    ended = WebhookDelivery.objects.filter(pk=delivery.pk, status__in=WebhookDelivery.TERMINAL)

    @in_transaction
    def queue_again() -> None:
        if not ended.update(
            status=WebhookDelivery.QUEUED,
            end_reason="",
            error="",
            ended_at=None,
            tries=0,
            crashes=0,
            cancel_requested_at=None,
            poked_at=WebhookDelivery.clock.now(),
        ):
            raise StillOnItsWay
        poke_on_commit([delivery.pk])

    queue_again()
    delivery.refresh_from_db()
    return delivery


def forget_delivered(user_id: int | None, session_id: uuid.UUID) -> None:
    """Delete the ended deliveries of a deleted conversation, which contain its text; others are still sent."""
    if user_id is not None:
        of_session = WebhookDelivery.objects.filter(
            endpoint__user=user_id, payload__data__session_id=str(session_id)
        )
        of_session.filter(status__in=WebhookDelivery.TERMINAL).delete()


def forget_old() -> int:
    """Delete a batch of deliveries that ended long ago; return how many."""
    before = timezone.now() - timedelta(seconds=limits.WEBHOOK_LOG_SECONDS)
    old = WebhookDelivery.objects.filter(ended_at__lt=before).values("pk")[: workspace_limits.PURGE_BATCH]
    return WebhookDelivery.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()[0]
