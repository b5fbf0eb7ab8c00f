"""Webhook signatures, implemented from their specifications and not from the product's code."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import uuid


def standard_headers(
    secret: str, body: bytes, *, message_id: str = "", age_seconds: float = 0.0
) -> dict[str, str]:
    """Sign as Standard Webhooks specifies: HMAC-SHA256 over `id.timestamp.body`."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    message_id, stamp = message_id or f"msg_{uuid.uuid4().hex}", str(int(time.time() - age_seconds))
    signed = f"{message_id}.{stamp}.".encode() + body
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{signature}",
        "Content-Type": "application/json",
    }


def github_headers(secret: str, body: bytes, *, delivery: str = "") -> dict[str, str]:
    """Sign as GitHub does: HMAC-SHA256 over the body only."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "X-Hub-Signature-256": f"sha256={digest}",
        "X-GitHub-Delivery": delivery or uuid.uuid4().hex,
        "Content-Type": "application/json",
    }
