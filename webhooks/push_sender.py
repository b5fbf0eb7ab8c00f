"""Push a notice to the person's devices: wait through quiet hours, encrypt it for the browser, send it, record it."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.utils import timezone
from webpush import WebPush

from boundary.errors import BlockedUrl, FetchError, InvalidRequest
from boundary.http import OutboundRequest, fetch
from durable import crashpoints
from durable.encryption import CannotUnseal
from durable.errors import HandOver, LeaseLost
from durable.lease import Lease
from durable.stop_signal import StopReason
from webhooks import limits, notices, subscriptions, vapid_keys
from webhooks.events import NoticeKind
from webhooks.models import PushNotice, PushSubscription

logger = logging.getLogger(__name__)

GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)


@dataclass(frozen=True, kw_only=True)
class PushOutcome:
    """The result of sending to one device. A device that is `gone` is forgotten."""

    delivered: bool = False
    gone: bool = False
    error: str = ""


def run(lease: Lease) -> None:
    """Push a notice unless a page has shown it meanwhile. A worker that dies after sending sends it again: browsers
    replace a notification of the same tag."""
    notice = PushNotice.objects.select_related("user").filter(pk=lease.job_id).first()
    if notice is None:
        raise LeaseLost  # the user was deleted meanwhile
    if lease.draining:
        raise HandOver
    if lease.stop.reason is StopReason.CANCELLED:
        return lease.finish(notice.CANCELLED, reason="cancelled", error="The notice was cancelled.")
    chosen = notices.settings_of(notice.user)
    if reason := why_not(notice, chosen.wants(notice.kind)):
        return lease.finish(notice.COMPLETED, reason=reason)
    now = timezone.now()
    until = None if notice.kind == NoticeKind.TEST else notices.quiet_until(chosen, notice.user, now)
    if until is not None:
        return lease.wait_until_due(max((until - now).total_seconds(), 1.0))
    return push(notice, lease, to_all=chosen.all_devices or notice.kind == NoticeKind.TEST)


def why_not(notice: PushNotice, wanted: bool) -> str:
    """Return why a notice is not pushed; an empty string if it is."""
    if notice.seen_at is not None and not notice.delivered_to:
        return "seen"
    if not notice.user.is_active:
        return "inactive"
    return "" if wanted else "switched_off"


def push(notice: PushNotice, lease: Lease, *, to_all: bool) -> None:
    """Send to the device that was used last, or to all; a device that does not take it gives way to the next."""
    errors: list[str] = []
    delivered = list(notice.delivered_to)
    for device in subscriptions.devices_of(notice.user_id, besides=delivered):
        if delivered and not to_all:
            break
        lease.check()
        outcome = send(notice, device)
        crashpoints.reached("push_sent")
        if outcome.delivered:
            delivered.append(str(device.pk))
            lease.commit(lambda: None, delivered_to=delivered)
        elif outcome.gone:
            subscriptions.unsubscribe(device)
        else:
            errors.append(outcome.error)
    finish(notice, lease, delivered, errors)


def finish(notice: PushNotice, lease: Lease, delivered: list[str], errors: list[str]) -> None:
    """End the notice, or schedule the next attempt if no device has taken it."""
    tries = notice.tries + 1
    logger.info("push attempted", extra=notice.log_context() | {"devices": len(delivered), "tries": tries})
    if delivered:
        return lease.finish(notice.COMPLETED, reason="pushed", tries=tries)
    if not errors:
        return lease.finish(notice.COMPLETED, reason="no_device", tries=tries)
    if tries >= limits.PUSH_TRIES or notice.kind == NoticeKind.TEST:
        return lease.finish(notice.FAILED, reason="gave_up", error=errors[0], tries=tries)
    pause = limits.PUSH_FIRST_PAUSE_SECONDS * limits.PUSH_PAUSE_FACTOR ** (tries - 1)
    return lease.wait_until_due(pause, error=errors[0], tries=tries)


def send(notice: PushNotice, device: PushSubscription) -> PushOutcome:
    """Encrypt the notice for one browser and send it to its push service: no redirects, public addresses only."""
    try:
        address, keys = subscriptions.address_of(device), vapid_keys.key_pair()
    except CannotUnseal as error:
        return PushOutcome(error=str(error))
    pusher = WebPush(private_key=keys.private_pem, public_key=keys.public_pem, ttl=limits.PUSH_TTL_SECONDS)
    message = pusher.get(json.dumps(payload(notice, device)), address, subscriber=vapid_keys.contact())
    request = OutboundRequest(
        url=str(address.endpoint),
        method="POST",
        headers={
            **message.headers,
            "content-type": "application/octet-stream",
            "urgency": "high" if notice.kind == NoticeKind.REVIEW else "normal",
            "topic": notice.pk.hex,
        },
        body=message.encrypted,
        timeout=limits.PUSH_SECONDS,
        max_bytes=limits.MAX_PUSH_ANSWER_BYTES,
        follow_redirects=False,
        cut=True,
    )
    try:
        return judge(fetch(request).status)
    except (BlockedUrl, InvalidRequest) as error:
        return PushOutcome(gone=True, error=str(error))
    except FetchError as error:
        return PushOutcome(error=str(error))


def judge(status: int) -> PushOutcome:
    if 200 <= status < 300:
        return PushOutcome(delivered=True)
    return PushOutcome(gone=status in GONE, error=f"The push service answered {status}.")


def payload(notice: PushNotice, device: PushSubscription) -> dict[str, Any]:
    """Return what the service worker gets: no text of the conversation, only what it is about."""
    return {
        "id": notice.event_id,
        "kind": notice.kind,
        "subject": notice.subject,
        "url": notice.url,
        "language": device.language,
        "review": notice.event_id.partition(":")[2] if notice.kind == NoticeKind.REVIEW else None,
    }
