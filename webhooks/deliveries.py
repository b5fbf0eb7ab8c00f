"""Webhook deliveries: queue them in the transaction that ends a job, send a test, replay one, delete old ones."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from datetime import timedelta

from django.utils import timezone

from durable.clock import current_time
from durable.database import after_commit, in_transaction
from durable.ids import new_id
from durable.publisher import poke
from webhooks import limits
from webhooks.errors import EndpointDisabled, StillOnItsWay
from webhooks.events import Data, EventType, event_id, payload
from webhooks.models import WebhookDelivery, WebhookEndpoint
from workspace import limits as workspace_limits


def announce(
    *, user_id: int | None, event_type: EventType, subject_id: uuid.UUID, describe: Callable[[], Data]
) -> None:
    """Queue a delivery for each endpoint of the user that subscribed to the event; call it in the event's transaction.

    Once per endpoint, event type and subject. `describe` is called only if there is such an endpoint.
    """
    if user_id is None:
        return  # a visitor has no endpoints
    endpoints = WebhookEndpoint.objects.filter(user_id=user_id, user__is_active=True, enabled=True)
    wanted = [endpoint for endpoint in endpoints if event_type in endpoint.events]
    if not wanted:
        return
    body = payload(event_type, current_time(), describe())
    name = event_id(event_type, subject_id)
    rows = [new_delivery(endpoint, event_type, name, body) for endpoint in wanted]
    WebhookDelivery.objects.bulk_create(rows, ignore_conflicts=True)
    poke_on_commit(row.pk for row in rows)


def new_delivery(endpoint: WebhookEndpoint, event_type: EventType, name: str, body: Data) -> WebhookDelivery:
    return WebhookDelivery(
        id=new_id(),
        status=WebhookDelivery.QUEUED,
        endpoint=endpoint,
        event_type=event_type,
        event_id=name,
        payload=body,
        poked_at=WebhookDelivery.clock.now(),
    )


def poke_on_commit(delivery_ids: Iterable[uuid.UUID]) -> None:
    """Poke the deliveries after the commit; the sweep finds those whose poke is lost."""
    for delivery_id in delivery_ids:
        after_commit(poke, WebhookDelivery, delivery_id)


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
