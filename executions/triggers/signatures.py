"""Signatures of calls: generate secrets, and verify signatures of the raw bytes in constant time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import assert_never

from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from durable.encryption import unseal
from executions.errors import BadTrigger
from executions.models import Trigger

Scheme = Trigger.Scheme
SECRET_BYTES = 32
LEAST_SECRET_BYTES = 16
STANDARD_PREFIX = "whsec_"
HMAC_HEADER = "x-hub-signature-256"
HMAC_PREFIX = "sha256="


def new_secret(scheme: str) -> str:
    """Return a new secret in the format of the scheme; empty if calls are not signed."""
    match Scheme(scheme):
        case Scheme.NONE:
            return ""
        case Scheme.STANDARD:
            return STANDARD_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
        case Scheme.HMAC:
            return secrets.token_urlsafe(SECRET_BYTES)
        case other:
            assert_never(other)


def check_secret(scheme: str, secret: str) -> None:
    """Raise BadTrigger for a given secret that is malformed or too short."""
    match Scheme(scheme):
        case Scheme.NONE:
            raise BadTrigger("Calls are not signed with this scheme, so it has no secret.")
        case Scheme.STANDARD:
            try:
                key = base64.b64decode(secret.removeprefix(STANDARD_PREFIX) + "==")
            except (binascii.Error, ValueError):
                raise BadTrigger("A Standard Webhooks secret must be whsec_ followed by base64.") from None
        case Scheme.HMAC:
            key = secret.encode()
        case other:
            assert_never(other)
    if len(key) < LEAST_SECRET_BYTES:
        raise BadTrigger(f"This secret is too short. Use at least {LEAST_SECRET_BYTES} random bytes.")


def is_signed(trigger: Trigger, body: bytes, headers: Mapping[str, str]) -> bool:
    """Return whether a call is signed by the trigger's scheme; after a rotation the old secret is valid for a while."""
    scheme = Scheme(trigger.scheme)
    if scheme is Scheme.NONE:
        return True
    sealed = [trigger.secret]
    if trigger.old_secret and trigger.old_secret_until and trigger.old_secret_until > timezone.now():
        sealed.append(trigger.old_secret)
    check = is_standard if scheme is Scheme.STANDARD else is_hmac
    return any(check(unseal(one), body, headers) for one in sealed)


def is_standard(secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Check a Standard Webhooks signature: id, time and body, at most five minutes old."""
    try:
        Webhook(secret).verify(body, dict(headers), json_parse=False)
    except (
        WebhookVerificationError,
        ValueError,
    ):  # the library raises these for malformed headers and bodies
        return False
    return True


def is_hmac(secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Check a signature in GitHub's format: HMAC of the body in hexadecimal."""
    given = headers.get(HMAC_HEADER, "").encode("utf-8", "replace")
    expected = HMAC_PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(given, expected.encode())
