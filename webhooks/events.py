"""Event types and payloads of webhooks, and kinds of notices."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import Any

from django.db import models

from webhooks import limits

Data = dict[str, Any]


class EventType(models.TextChoices):
    """Event types, named as on `/ws/events/`; `data.status` says how the job ended."""

    TURN_FINISHED = "turn.finished"
    OPERATION_FINISHED = "operation.finished"
    EXECUTION_FINISHED = "execution.finished"
    TEST = "webhook.test"  # sent on request of the endpoint's owner, not subscribed to in `events`


class NoticeKind(models.TextChoices):
    """What a person is notified of."""

    ANSWER = "answer"  # an answer is ready
    QUESTION = "question"  # the copilot asks something
    REVIEW = "review"  # an approval is needed
    RUN = "run"  # a run of an agent has ended
    TEST = "test"  # the person asked for it


OFFERED = (EventType.TURN_FINISHED, EventType.OPERATION_FINISHED, EventType.EXECUTION_FINISHED)


def event_id(event_type: EventType, subject_id: uuid.UUID) -> str:
    """Return the `webhook-id`: a job ends once, so its kind and id identify the event in every attempt."""
    return f"{event_type.partition('.')[0]}_{subject_id.hex}"


def payload(event_type: EventType, at: datetime, data: Data) -> dict[str, Any]:
    """Return the body as Standard Webhooks recommends it."""
    return {"type": event_type.value, "timestamp": at.isoformat(), "data": fitting(data)}


def fitting(data: Data) -> Data:
    """Return the data within the size limit: the largest fields are omitted and listed in `left_out`."""
    kept, left_out = dict(data), []
    while len(encode(kept)) > limits.MAX_WEBHOOK_BYTES:
        largest = max(kept, key=lambda name: len(encode({name: kept[name]})))
        del kept[largest]
        left_out.append(largest)
    return kept | {"left_out": left_out} if left_out else kept


def encode(value: dict[str, Any]) -> bytes:
    """Return the bytes that are signed and sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
