"""Repeated calls: a call that is sent again because its stream broke joins what the first one started.

The same tool with the same arguments and key is the same call while its work runs, and until its result was sent once.
A client that wants to decide by itself sends `_meta["ratchet/idempotencyKey"]`: then the same key is the same call for
ever, and different keys are different calls.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from chat.key_budgets import execution_prefix
from chat.models import Turn
from doors.mcp import limits, protocol
from doors.mcp.errors import BadParams
from doors.mcp.providers import McpCall
from durable import storable
from durable.event_log import encode
from executions.models import Execution

MAX_KEY_CHARACTERS = 255
AUTOMATIC = "mcp:"
CHOSEN = "mcp-key:"
SENT = ":"


@dataclass(frozen=True, kw_only=True)
class CallIdentity:
    """What makes two calls the same."""

    digest: str
    is_chosen: bool
    client_id: str  # of an execution


def identify(call: McpCall, tool: str) -> CallIdentity:
    """Return the identity of a call; raise BadParams for an unusable key."""
    chosen = call.exchange.meta.get(protocol.META_IDEMPOTENCY_KEY)
    if chosen is not None and not (isinstance(chosen, str) and 0 < len(chosen) <= MAX_KEY_CHARACTERS):
        raise BadParams(
            f"`{protocol.META_IDEMPOTENCY_KEY}` must be a text of 1 to {MAX_KEY_CHARACTERS} characters."
        )
    key = call.caller.key
    said: list[Any] = [str(key.pk), tool, chosen if chosen is not None else sorted_json(call.arguments)]
    digest = hashlib.sha256(encode([bool(chosen), *said]).encode()).hexdigest()
    kind = CHOSEN if chosen else AUTOMATIC
    return CallIdentity(
        digest=digest, is_chosen=bool(chosen), client_id=f"{execution_prefix(key)}{kind}{digest}"
    )


def sorted_json(value: Any) -> Any:
    """Return a value whose encoding does not depend on the order of names."""
    if isinstance(value, dict):
        return {name: sorted_json(value[name]) for name in sorted(value)}
    return [sorted_json(item) for item in value] if isinstance(value, list) else storable.nearest_json(value)


def is_lost(row: Turn | Execution) -> bool:
    """Return whether the result of a row that still has its key may yet answer a repeated call."""
    if not row.is_terminal or row.ended_at is None:
        return True
    return row.ended_at > timezone.now() - timedelta(seconds=limits.LOST_RESULT_SECONDS)


def release(row: Turn | Execution) -> None:
    """Let the next call of this kind start anew, because the result was sent, or is too old. Idempotent."""
    if isinstance(row, Turn):
        Turn.objects.filter(pk=row.pk, status__in=Turn.TERMINAL).update(request_key=None)
        return
    name = row.client_id or ""
    if AUTOMATIC not in name or name.endswith(row.pk.hex):
        return
    ended = Execution.objects.filter(pk=row.pk, client_id=name, status__in=Execution.TERMINAL)
    ended.update(client_id=f"{name}{SENT}{row.pk.hex}")
