"""Create, find and revoke API keys."""

from __future__ import annotations

import re
import secrets
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from accounts.errors import TooManyKeys
from accounts.limits import API_KEY_USE_NOTE_SECONDS, MAX_API_KEYS_PER_USER
from accounts.models import ApiKey, User
from accounts.tokens import hash_token, new_token
from durable import plain_sql
from durable.database import in_transaction

PREFIX_BYTES = 4
SHAPE = re.compile(r"rk_[0-9a-f]{8}_[A-Za-z0-9_-]{43}")


def create_api_key(user: User, name: str) -> str:
    """Create a key and return it; it cannot be read again. Raises TooManyKeys."""
    return make_key(user, name)[1]


@in_transaction
def make_key(user: User, name: str, **limits: Any) -> tuple[ApiKey, str]:
    """Create a key, perhaps with limits; return its row and the key itself. Raises TooManyKeys."""
    prefix = secrets.token_hex(PREFIX_BYTES)
    key = f"rk_{prefix}_{new_token()}"
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # serializes concurrent calls
    if ApiKey.objects.filter(user=user, revoked_at=None, grant=None).count() >= MAX_API_KEYS_PER_USER:
        raise TooManyKeys
    row = ApiKey.objects.create(user=user, name=name, prefix=prefix, hash=hash_token(key), **limits)
    return row, key


def find_key(key: str) -> ApiKey | None:
    """Return a valid key's row with its user, and record the use; None if unknown, revoked, or its user is inactive."""
    if not SHAPE.fullmatch(key):
        return None
    found: ApiKey | None = next(iter(_by_hash(hash_token(key))), None)
    if found:
        note_use(found)
    return found


_by_hash = plain_sql.PreparedSelect(
    lambda name: ApiKey.objects.select_related("user").filter(
        hash=name, revoked_at=None, user__is_active=True
    ),
    "the hash of a key",
)


def note_use(key: ApiKey) -> None:
    """Update `last_used_at`, at most once a minute."""
    now = timezone.now()
    stale = now - timedelta(seconds=API_KEY_USE_NOTE_SECONDS)
    if key.last_used_at and key.last_used_at > stale:
        return
    unnoted = Q(last_used_at=None) | Q(last_used_at__lte=stale)
    ApiKey.objects.filter(unnoted, pk=key.pk).update(last_used_at=now)


def revoke_key(key: ApiKey) -> bool:
    """Revoke the key at once; False if it was revoked already."""
    return ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()) == 1
