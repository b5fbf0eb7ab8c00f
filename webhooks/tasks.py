"""Celery tasks: run a delivery, and delete old ones."""

from __future__ import annotations

import uuid

from celery import shared_task

from durable.runtime import runtime
from webhooks import deliveries, sender
from webhooks.models import WebhookDelivery


@shared_task(name="webhooks.send")
def send(delivery_id: str) -> None:
    """Run one delivery. Once: a duplicate message finds the lease held and returns."""
    runtime().run(WebhookDelivery, uuid.UUID(delivery_id), sender.run)


@shared_task(name="webhooks.forget_old")
def forget_old() -> None:
    """Delete old deliveries; scheduled by beat."""
    deliveries.forget_old()
