"""One try of one delivery: sign, send, and write down what came of it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from accounts.sealing import CannotUnseal
from boundary.errors import BlockedUrl, FetchError, InvalidRequest
from boundary.http import OutboundRequest, OutboundResponse, fetch
from durable import crashpoints, limits, tracing
from durable.errors import HandOver, LeaseLost
from durable.lease import Lease
from durable.stop import StopReason
from webhooks import endpoints, health, signing
from webhooks.backoff import pause_before
from webhooks.events import EventType, encode
from webhooks.excerpts import excerpt
from webhooks.models import WebhookDelivery

logger = logging.getLogger(__name__)

GONE = 410


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one try. `reason` is set where another try would be in vain."""

    delivered: bool = False
    status: int | None = None
    error: str = ""
    excerpt: str = ""
    reason: str = ""
    asked_for: float = 0.0  # the pause the receiver wants


def run(lease: Lease) -> None:
    """Try a delivery once. At least once: one that was sent by a worker that died is sent again, with the same id."""
    delivery = WebhookDelivery.objects.select_related("endpoint", "endpoint__user").filter(pk=lease.job_id)
    found = delivery.first()
    if found is None:
        raise LeaseLost  # the endpoint was deleted meanwhile
    if lease.draining:
        raise HandOver
    if lease.stop.reason is StopReason.CANCELLED:
        return lease.finish(found.CANCELLED, reason="cancelled", error="It was cancelled.")
    if not (found.endpoint.enabled and found.endpoint.user.is_active):
        return lease.finish(
            found.CANCELLED, reason="endpoint_disabled", error="The endpoint was switched off."
        )
    outcome = send(found)
    crashpoints.reached("webhook_sent")
    return record(found, outcome, lease)


def send(delivery: WebhookDelivery) -> Outcome:
    """The request itself: no redirect is followed, no address of the inside is reached, little is read."""
    body = encode(delivery.payload)
    try:
        secrets = endpoints.secrets_of(delivery.endpoint)
    except CannotUnseal as error:
        return Outcome(error=str(error), reason="no_secret")
    request = OutboundRequest(
        url=delivery.endpoint.url,
        method="POST",
        headers=signing.headers(delivery.event_id, datetime.now(UTC), body, secrets),
        body=body,
        timeout=limits.WEBHOOK_SECONDS,
        max_bytes=limits.MAX_WEBHOOK_ANSWER_BYTES,
        follow_redirects=False,
        cut=True,
    )
    try:
        return judge(fetch(request))
    except (BlockedUrl, InvalidRequest) as error:
        return Outcome(error=str(error), reason=error.code)
    except FetchError as error:
        return Outcome(error=str(error))


def judge(response: OutboundResponse) -> Outcome:
    """2xx is delivered; 410 asks never to be told again; everything else may be better next time."""
    status = response.status
    known = {"status": status, "excerpt": excerpt(response.body)}
    if 200 <= status < 300:
        return Outcome(delivered=True, **known)  # type: ignore[arg-type]
    error = f"The receiver answered {status}."
    if 300 <= status < 400:
        error += " Redirects are not followed: set the address it leads to."
    wait = response.header("retry-after")
    return Outcome(
        error=error,
        reason="gone" if status == GONE else "",
        asked_for=float(wait[:9]) if wait.isascii() and wait.isdecimal() else 0.0,
        **known,  # type: ignore[arg-type]
    )


def record(delivery: WebhookDelivery, outcome: Outcome, lease: Lease) -> None:
    """Write the try down, and with it what it says about the endpoint; then it has ended, or waits for the next."""
    tries = delivery.tries + 1
    changes: dict[str, Any] = {
        "tries": tries,
        "tried_at": delivery.clock.now(),
        "response_status": outcome.status,
        "response_excerpt": outcome.excerpt,
    }
    tracing.annotate({"http.response.status_code": outcome.status or 0, "ratchet.tries": tries})
    logger.info("webhook tried", extra=delivery.log_context() | {"status": outcome.status, "tries": tries})
    if outcome.delivered:
        return lease.finish(
            delivery.COMPLETED,
            reason="delivered",
            work=lambda: health.note_success(delivery.endpoint_id),
            **changes,
        )
    is_test = delivery.event_type == EventType.TEST  # somebody looks at it now; a day later nobody does
    gone = outcome.reason == "gone"
    pause = None if outcome.reason or is_test else pause_before(tries, asked_for=outcome.asked_for)

    def work() -> None:
        if gone or not is_test:
            health.note_failure(delivery.endpoint_id, gone=gone)

    if pause is None:
        return lease.finish(
            delivery.FAILED, reason=outcome.reason or "gave_up", error=outcome.error, work=work, **changes
        )
    return lease.wait_until_due(pause, work=work, error=outcome.error, **changes)
