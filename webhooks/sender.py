"""Attempt a delivery once: sign it, send it, and record the result."""

from __future__ import annotations

import json
import logging
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from standardwebhooks import Webhook

from boundary.errors import BlockedUrl, FetchError, InvalidRequest
from boundary.http import OutboundRequest, OutboundResponse, fetch
from durable import crashpoints, storable, tracing
from durable.encryption import CannotUnseal
from durable.errors import HandOver, LeaseLost
from durable.lease import Lease
from durable.redaction import REDACTED, redact, redact_text
from durable.stop_signal import StopReason
from webhooks import endpoints, limits
from webhooks.events import EventType, encode
from webhooks.models import WebhookDelivery

logger = logging.getLogger(__name__)

GONE = 410
KEY_SHAPES = re.compile(r"\b[A-Za-z0-9_\-+/]{32,}={0,2}")  # long and random, probably a key


@dataclass(frozen=True, kw_only=True)
class DeliveryOutcome:
    """The result of one attempt. `reason` is set if another attempt would be pointless."""

    delivered: bool = False
    status: int | None = None
    error: str = ""
    excerpt: str = ""
    reason: str = ""
    asked_for: float = 0.0  # the pause that the receiver asks for


def run(lease: Lease) -> None:
    """Attempt a delivery. If the worker dies after sending, it is sent again with the same id."""
    delivery = WebhookDelivery.objects.select_related("endpoint", "endpoint__user").filter(pk=lease.job_id)
    found = delivery.first()
    if found is None:
        raise LeaseLost  # the endpoint was deleted meanwhile
    if lease.draining:
        raise HandOver
    if lease.stop.reason is StopReason.CANCELLED:
        return lease.finish(found.CANCELLED, reason="cancelled", error="The delivery was cancelled.")
    if not (found.endpoint.enabled and found.endpoint.user.is_active):
        return lease.finish(
            found.CANCELLED, reason="endpoint_disabled", error="The endpoint was switched off."
        )
    outcome = send(found)
    crashpoints.reached("webhook_sent")
    return record(found, outcome, lease)


def send(delivery: WebhookDelivery) -> DeliveryOutcome:
    """Send the request: without redirects, to public addresses only, and read little of the answer."""
    body = encode(delivery.payload)
    try:
        secrets = endpoints.secrets_of(delivery.endpoint)
    except CannotUnseal as error:
        return DeliveryOutcome(error=str(error), reason="no_secret")
    request = OutboundRequest(
        url=delivery.endpoint.url,
        method="POST",
        headers=signed_headers(delivery.event_id, datetime.now(UTC), body, secrets),
        body=body,
        timeout=limits.WEBHOOK_SECONDS,
        max_bytes=limits.MAX_WEBHOOK_ANSWER_BYTES,
        follow_redirects=False,
        cut=True,
    )
    try:
        return judge(fetch(request))
    except (BlockedUrl, InvalidRequest) as error:
        return DeliveryOutcome(error=str(error), reason=error.code)
    except FetchError as error:
        return DeliveryOutcome(error=str(error))


def judge(response: OutboundResponse) -> DeliveryOutcome:
    """Return the outcome of a response: 2xx is delivered, 410 disables the endpoint, anything else is retried."""
    status = response.status
    known = {"status": status, "excerpt": excerpt(response.body)}
    if 200 <= status < 300:
        return DeliveryOutcome(delivered=True, **known)  # type: ignore[arg-type]
    error = f"The receiver answered {status}."
    if 300 <= status < 400:
        error += " Redirects are not followed: set the address it leads to."
    wait = response.header("retry-after")
    return DeliveryOutcome(
        error=error,
        reason="gone" if status == GONE else "",
        asked_for=float(wait[:9]) if wait.isascii() and wait.isdecimal() else 0.0,
        **known,  # type: ignore[arg-type]
    )


def record(delivery: WebhookDelivery, outcome: DeliveryOutcome, lease: Lease) -> None:
    """Record the attempt and the endpoint's health, then end the delivery or schedule the next attempt."""
    tries = delivery.tries + 1
    changes: dict[str, Any] = {
        "tries": tries,
        "tried_at": delivery.clock.now(),
        "response_status": outcome.status,
        "response_excerpt": outcome.excerpt,
    }
    tracing.annotate({"http.response.status_code": outcome.status or 0, "ratchet.tries": tries})
    logger.info(
        "webhook attempted", extra=delivery.log_context() | {"status": outcome.status, "tries": tries}
    )
    if outcome.delivered:
        return lease.finish(
            delivery.COMPLETED,
            reason="delivered",
            work=lambda: endpoints.note_success(delivery.endpoint_id),
            **changes,
        )
    is_test = delivery.event_type == EventType.TEST  # a person is waiting for it now, so it is not retried
    gone = outcome.reason == "gone"
    pause = None if outcome.reason or is_test else pause_before(tries, asked_for=outcome.asked_for)

    def work() -> None:
        if gone or not is_test:
            endpoints.note_failure(delivery.endpoint_id, gone=gone)

    if pause is None:
        return lease.finish(
            delivery.FAILED, reason=outcome.reason or "gave_up", error=outcome.error, work=work, **changes
        )
    return lease.wait_until_due(pause, work=work, error=outcome.error, **changes)


def signed_headers(message_id: str, at: datetime, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return the headers of Standard Webhooks, with one signature per valid secret; `at` must be in UTC."""
    text = body.decode()
    return {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(Webhook(secret).sign(message_id, at, text) for secret in secrets),
    }


def excerpt(body: bytes) -> str:
    """Return the beginning of a receiver's answer without secrets, for debugging."""
    text = storable.text(body.decode("utf-8", "replace"))
    try:
        text = json.dumps(redact(json.loads(text)), ensure_ascii=False)
    except (ValueError, RecursionError):
        text = redact_text(text)
    text = KEY_SHAPES.sub(REDACTED, " ".join(text.split()))
    return text[: limits.WEBHOOK_EXCERPT_CHARACTERS]


def pause_before(tries: int, *, asked_for: float = 0.0) -> float | None:
    """Return the seconds until the next attempt after `tries` failed ones; None after the last.

    5 s, 20 s, 80 s ... 8 h, ten attempts over about a day. Jitter spreads the attempts after an outage. A longer pause
    that the receiver asks for (`Retry-After`) is granted, up to the longest pause.
    """
    if tries >= limits.WEBHOOK_TRIES:
        return None
    longest = limits.WEBHOOK_LONGEST_PAUSE_SECONDS
    pause = min(limits.WEBHOOK_FIRST_PAUSE_SECONDS * limits.WEBHOOK_PAUSE_FACTOR ** (tries - 1), longest)
    jitter = random.uniform(1 - limits.WEBHOOK_JITTER, 1 + limits.WEBHOOK_JITTER)  # noqa: S311
    return max(pause * jitter, min(asked_for, longest))
