"""Browsers that take a user's notifications: subscribe, unsubscribe, read their address."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import uuid

from cryptography.hazmat.primitives.asymmetric import ec
from django.utils import timezone
from webpush import WebPushSubscription

from accounts.models import User
from durable.database import in_transaction
from durable.encryption import seal, unseal
from webhooks import limits
from webhooks.endpoints import check_url
from webhooks.errors import BadPushKeys, TooManyPushSubscriptions
from webhooks.models import PushSubscription

AUTH_BYTES = 16
POINT_BYTES = 65  # of an uncompressed point on P-256


def subscribe(
    user: User, *, endpoint: str, p256dh: str, auth: str, name: str = "", language: str = "en"
) -> PushSubscription:
    """Keep a browser's subscription, or renew it: there is one row per address.

    A browser in which somebody else logs in belongs to that person from then on. Raises BlockedUrl, BadPushKeys or
    TooManyPushSubscriptions.
    """
    check_url(endpoint)
    check_keys(p256dh=p256dh, auth=auth)
    address = json.dumps({"endpoint": endpoint, "keys": {"p256dh": p256dh, "auth": auth}})
    values = {
        "user": user,
        "sealed_address": seal(address),
        "host": WebPushSubscription.model_validate_json(address).endpoint.host or "",
        "name": name,
        "language": language,
        "used_at": timezone.now(),
    }
    return _keep(user, hashlib.sha256(endpoint.encode()).hexdigest(), values)


@in_transaction
def _keep(user: User, endpoint_hash: str, values: dict[str, object]) -> PushSubscription:
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # serializes concurrent calls
    others = PushSubscription.objects.filter(user=user).exclude(endpoint_hash=endpoint_hash)
    if others.count() >= limits.MAX_PUSH_SUBSCRIPTIONS_PER_USER:
        raise TooManyPushSubscriptions
    former = PushSubscription.objects.filter(endpoint_hash=endpoint_hash).exclude(user=user).first()
    kept, _ = PushSubscription.objects.update_or_create(endpoint_hash=endpoint_hash, defaults=values)
    note_devices(user.pk)
    if former is not None:
        note_devices(former.user_id)
    return kept


@in_transaction
def unsubscribe(subscription: PushSubscription) -> None:
    """Forget a browser; nothing more is sent to it. Idempotent."""
    PushSubscription.objects.filter(pk=subscription.pk).delete()
    note_devices(subscription.user_id)


def note_devices(user_id: int) -> None:
    """Note on the user whether a device takes push messages, so that the end of a turn need not look for one."""
    has_push = PushSubscription.objects.filter(user=user_id).exists()
    User.objects.filter(pk=user_id).exclude(has_push=has_push).update(has_push=has_push)


def address_of(subscription: PushSubscription) -> WebPushSubscription:
    """Return the endpoint and the keys of a browser; raises CannotUnseal."""
    return WebPushSubscription.model_validate_json(unseal(subscription.sealed_address))


def check_keys(*, p256dh: str, auth: str) -> None:
    """Raise BadPushKeys unless these are a point on P-256 and a secret of 16 bytes."""
    try:
        point, secret = decoded(p256dh), decoded(auth)
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except (ValueError, binascii.Error):
        raise BadPushKeys from None
    if len(point) != POINT_BYTES or len(secret) != AUTH_BYTES:
        raise BadPushKeys


def decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def devices_of(user_id: int, *, besides: list[str]) -> list[PushSubscription]:
    """Return a user's browsers, the one that was used last first, without those of these ids."""
    known = {uuid.UUID(name) for name in besides}
    return [row for row in PushSubscription.objects.filter(user=user_id) if row.pk not in known]
