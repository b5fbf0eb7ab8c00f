"""How an endpoint is doing: what its tries say about it, and when it is switched off."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.utils import timezone

from durable import limits
from webhooks.models import WebhookEndpoint

GONE = "The receiver answered 410 Gone: it does not want to be told any more."
FAILED_FOR_DAYS = "Every try has failed for {days} days."


def note_success(endpoint_id: uuid.UUID) -> None:
    """In the transaction that writes the try down."""
    failing = WebhookEndpoint.objects.filter(pk=endpoint_id).exclude(failing_since=None)
    failing.update(failing_since=None)


def note_failure(endpoint_id: uuid.UUID, *, gone: bool) -> None:
    """In the transaction that writes the try down. Switched off at once by 410, and after days of failures."""
    endpoint = WebhookEndpoint.objects.select_for_update(no_key=True).get(pk=endpoint_id)
    now = timezone.now()
    endpoint.failing_since = endpoint.failing_since or now
    days = timedelta(seconds=limits.WEBHOOK_DISABLE_SECONDS)
    if gone:
        disable(endpoint, GONE)
    elif now - endpoint.failing_since >= days:
        disable(endpoint, FAILED_FOR_DAYS.format(days=days.days))
    endpoint.save(update_fields=["failing_since", "enabled", "disabled_reason"])


def disable(endpoint: WebhookEndpoint, reason: str) -> None:
    """The first reason stands; one the person switched off stays as it is."""
    if endpoint.enabled:
        endpoint.enabled, endpoint.disabled_reason = False, reason
