"""Webhook payload for `operation.finished`."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings

from tools.models import Operation
from webhooks.deliveries import announce
from webhooks.events import EventType


def announce_end(operation: Operation) -> None:
    """Queue the webhook in the transaction that ends the operation. Once per operation and endpoint."""
    announce(
        user_id=operation.user_id,
        event_type=EventType.OPERATION_FINISHED,
        subject_id=operation.pk,
        describe=partial(describe, operation),
    )


def describe(operation: Operation) -> dict[str, Any]:
    """Return the payload; its result is what the model sees, without secrets and with long parts cut."""
    return {
        "operation_id": str(operation.pk),
        "task_id": str(operation.task_id),
        "session_id": str(operation.session_id),
        "turn_id": str(operation.turn_id),
        "tool_name": operation.tool_name,
        "status": operation.status,
        "end_reason": operation.end_reason,
        "error": operation.error or None,
        "result": operation.result,
        "queued_at": operation.queued_at.isoformat(),
        "ended_at": operation.ended_at.isoformat() if operation.ended_at else None,
        "url": f"{settings.SITE_URL}/api/operations/{operation.pk}",
    }
