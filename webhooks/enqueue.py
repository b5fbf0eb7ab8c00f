"""Queue webhook deliveries in the transaction that ends a job."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable

from durable.after_commit import after_commit
from durable.clock import current_time
from durable.ids import new_id
from durable.poke import poke
from webhooks.events import Data, EventType, event_id, payload
from webhooks.models import WebhookDelivery, WebhookEndpoint


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
