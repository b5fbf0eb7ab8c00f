"""Celery tasks: run a delivery or a push, and delete old ones."""

from __future__ import annotations

import uuid

from celery import shared_task

from durable.runtime import runtime
from webhooks import deliveries, notices, push_sender, sender
from webhooks.models import PushNotice, WebhookDelivery


@shared_task(name="webhooks.send")
def send(delivery_id: str) -> None:
    """Run one delivery. Once: a duplicate message finds the lease held and returns."""
    runtime().run(WebhookDelivery, uuid.UUID(delivery_id), sender.run)


@shared_task(name="webhooks.push")
def push(notice_id: str) -> None:
    """Push one notice. Once: a duplicate message finds the lease held and returns."""
    runtime().run(PushNotice, uuid.UUID(notice_id), push_sender.run)


@shared_task(name="webhooks.forget_old")
def forget_old() -> None:
    """Delete old deliveries and notices; scheduled by beat."""
    deliveries.forget_old()
    notices.forget_old()
