"""Which requests are one: by the key a client sends, or by its own retry of the same body."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from chat.models import Turn
from doors.openai import limits
from doors.openai.access import Caller
from doors.openai.errors import UnusableRequest

KEY_HEADER = "Idempotency-Key"
RETRY_HEADER = "X-Stainless-Retry-Count"  # sent by the official clients


@dataclass(frozen=True, kw_only=True)
class RequestIdentity:
    """The key of a request. `repeats` says that the first try may have come before."""

    key: str
    body_hash: str
    is_explicit: bool
    repeats: bool


def identify(
    path: str, body: bytes, headers: Mapping[str, str], metadata: Mapping[str, str]
) -> RequestIdentity:
    """Return the identity of a request; raise UnusableRequest for a key that is too long."""
    given = headers.get(KEY_HEADER, "")
    if len(given) > limits.MAX_IDEMPOTENCY_KEY_CHARACTERS:
        raise UnusableRequest(f"`{KEY_HEADER}` is too long.", param=KEY_HEADER)
    chosen = f"key:{given}" if given else f"id:{metadata['client_id']}" if metadata.get("client_id") else ""
    body_hash = hashlib.sha256(path.encode() + b"\0" + body).hexdigest()
    count = headers.get(RETRY_HEADER, "")
    is_retry = count.isascii() and count.isdecimal() and int(count[:9]) > 0
    return RequestIdentity(
        key=hashlib.sha256(chosen.encode("utf-8", "surrogatepass")).hexdigest() if chosen else body_hash,
        body_hash=body_hash,
        is_explicit=bool(chosen),
        repeats=bool(chosen) or is_retry,
    )


def earlier_turn(caller: Caller, identity: RequestIdentity) -> Turn | None:
    """Return the turn that an earlier try of this request has made; None for a new one.

    Raise UnusableRequest if the same key was sent with another body.
    """
    if not identity.repeats:
        return None
    found = turn_with(caller, identity.key)
    if found is None:
        return None
    if identity.is_explicit:
        known = (found.options or {}).get("echo", {}).get("body_hash")
        if known and known != identity.body_hash:
            raise UnusableRequest(
                "This idempotency key was sent before with another request.", code="idempotency_key_reused"
            )
        return found
    oldest = timezone.now() - timedelta(seconds=limits.REPEATED_REQUEST_SECONDS)
    return found if found.queued_at > oldest else None


def turn_with(caller: Caller, key: str) -> Turn | None:
    rows = Turn.objects.select_related("session", "session__user")
    return rows.filter(user=caller.user, request_key=key).first()
