"""The kinds of events an endpoint can ask for, and the form in which they are sent."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import Any

from django.db import models

from durable import limits

Data = dict[str, Any]


class EventType(models.TextChoices):
    """What may be told. The same words as on `/ws/events/`; `data.status` says how it ended."""

    TURN_FINISHED = "turn.finished"
    OPERATION_FINISHED = "operation.finished"
    EXECUTION_FINISHED = "execution.finished"
    TEST = "webhook.test"  # on request of the endpoint's owner; nobody asks for it in `events`


OFFERED = (EventType.TURN_FINISHED, EventType.OPERATION_FINISHED, EventType.EXECUTION_FINISHED)


def event_id(event_type: EventType, subject_id: uuid.UUID) -> str:
    """Sent as `webhook-id`. A job ends once, so its kind and its id name the event, however often it is told."""
    return f"{event_type.partition('.')[0]}_{subject_id.hex}"


def payload(event_type: EventType, at: datetime, data: Data) -> dict[str, Any]:
    """The body as Standard Webhooks recommends it."""
    return {"type": event_type.value, "timestamp": at.isoformat(), "data": fitting(data)}


def fitting(data: Data) -> Data:
    """Data of a size that receivers take: what is largest is left out and named, the ids always stay."""
    kept, left_out = dict(data), []
    while len(encode(kept)) > limits.MAX_WEBHOOK_BYTES:
        largest = max(kept, key=lambda name: len(encode({name: kept[name]})))
        del kept[largest]
        left_out.append(largest)
    return kept | {"left_out": left_out} if left_out else kept


def encode(value: dict[str, Any]) -> bytes:
    """The bytes that are signed and sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
