"""The headers of a message, as Standard Webhooks wants them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from standardwebhooks import Webhook


def headers(message_id: str, at: datetime, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """One signature per secret that counts now; `at` must be in UTC."""
    text = body.decode()
    return {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(Webhook(secret).sign(message_id, at, text) for secret in secrets),
    }
