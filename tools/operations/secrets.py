"""Per-operation secrets with which outside services sign completions."""

from __future__ import annotations

import base64
import uuid

from django.conf import settings
from django.urls import reverse
from django.utils.crypto import salted_hmac
from standardwebhooks import Webhook, WebhookVerificationError

SALT = "tools.operations.completion"


def secret_of(operation_id: uuid.UUID) -> str:
    """Derive the operation's secret from the site's key, so that none is stored."""
    return _derive(operation_id, settings.SECRET_KEY)


def is_signed(operation_id: uuid.UUID, body: bytes, headers: dict[str, str]) -> bool:
    """Return whether a request carries a fresh Standard Webhooks signature of this operation.

    Keys in SECRET_KEY_FALLBACKS count too, for the time after the site's key was changed.
    """
    return any(
        _verifies(_derive(operation_id, key), body, headers)
        for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )


def completion_url(operation_id: uuid.UUID) -> str:
    """Return the URL to which an outside service sends its completion."""
    return f"{settings.SITE_URL}{reverse('operation-complete', args=[operation_id])}"


def _derive(operation_id: uuid.UUID, key: str | bytes) -> str:
    digest = salted_hmac(SALT, str(operation_id), secret=key, algorithm="sha256").digest()
    return "whsec_" + base64.b64encode(digest).decode()


def _verifies(secret: str, body: bytes, headers: dict[str, str]) -> bool:
    try:
        Webhook(secret).verify(body, headers, json_parse=False)
    except (
        WebhookVerificationError,
        ValueError,
    ):  # the library raises ValueError for malformed headers and bodies
        return False
    return True
