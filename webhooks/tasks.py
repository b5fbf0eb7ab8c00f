"""Celery tasks: a poke that names a row, and the broom."""

from __future__ import annotations

import uuid

from celery import shared_task

from durable.runtime import runtime
from webhooks import deliveries, sending
from webhooks.models import WebhookDelivery


@shared_task(name="webhooks.send")
def send(delivery_id: str) -> None:
    """Try one delivery. Once: a second poke finds the lease held and returns."""
    runtime().run(WebhookDelivery, uuid.UUID(delivery_id), sending.run)


@shared_task(name="webhooks.forget_old")
def forget_old() -> None:
    """Keep the delivery log from growing for ever; beat asks for it."""
    deliveries.forget_old()
