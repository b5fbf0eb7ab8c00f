"""The health of endpoints, which disables those that fail for days."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.utils import timezone

from webhooks import limits
from webhooks.models import WebhookEndpoint

GONE = "The receiver answered 410 Gone: it no longer wants webhooks."
FAILED_FOR_DAYS = "Every attempt has failed for {days} days."


def note_success(endpoint_id: uuid.UUID) -> None:
    """Reset the failures; call it in the transaction that records the attempt."""
    failing = WebhookEndpoint.objects.filter(pk=endpoint_id).exclude(failing_since=None)
    failing.update(failing_since=None)


def note_failure(endpoint_id: uuid.UUID, *, gone: bool) -> None:
    """Record a failure in the attempt's transaction; disable the endpoint at once if gone, or after days."""
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
    """Disable the endpoint with a reason; one that is disabled keeps its first reason."""
    if endpoint.enabled:
        endpoint.enabled, endpoint.disabled_reason = False, reason
