"""Finding the credential a block may act with, and opening it for that one use."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import assert_never

from django.db.models import Q, QuerySet
from django.utils import timezone

from durable import limits
from executions.credentials.errors import CredentialExpired
from executions.credentials.hosts import matches
from executions.credentials.oauth.refreshing import fresh_tokens
from executions.credentials.secrets import ApiKey, Headers, Tokens, UserPassword, open_secret
from executions.models import StoredCredential
from executions.ports import Credential


class StoredCredentials:
    """The credentials port of one user: their own rows, and none else's."""

    def __init__(self, user_id: int) -> None:
        self._user_id = user_id

    def find(self, provider: str, *, credentials_id: str = "", host: str = "") -> Credential | None:
        """The chosen credential, opened; None when there is none. Raises CredentialUnusable."""
        row = choose(self._user_id, provider, credentials_id=credentials_id, host=host)
        if row is None:
            return None
        opened = open_credential(row)
        note_use(row)
        return opened


def choose(
    user_id: int, provider: str, *, credentials_id: str = "", host: str = ""
) -> StoredCredential | None:
    """The one with that id and no other; without an id the newest that is kept for the provider, or the host.

    A credential with a host is for that host alone. Where a request is about to leave for a host, one without is
    used only when it was chosen by its id: nobody's key travels to a server its owner never thought of.
    """
    rows = StoredCredential.objects.filter(user_id=user_id)
    if credentials_id:
        chosen = by_id(rows, credentials_id)
        return chosen if chosen is not None and fits(chosen, provider, host) else None
    found = [row for row in rows if fits(row, provider, host) and (row.host or not host)]
    return max(found, key=lambda row: preference(row, provider), default=None)


def by_id(rows: QuerySet[StoredCredential], credentials_id: str) -> StoredCredential | None:
    try:
        return rows.filter(pk=uuid.UUID(credentials_id)).first()
    except ValueError:
        return None


def fits(row: StoredCredential, provider: str, host: str) -> bool:
    if row.host:
        return matches(row.host, host)
    return row.provider == provider


def preference(row: StoredCredential, provider: str) -> tuple[object, ...]:
    """What works before what does not, the provider's own, one host before many, the newest before the older."""
    works = row.signed_out_at is None
    return works, row.provider == provider, "*" not in row.host, row.created_at, row.pk


def open_credential(row: StoredCredential) -> Credential:
    """The secret in the form blocks take it; a sign-in is refreshed first when it is about to end."""
    secret = fresh_tokens(row) if row.kind == StoredCredential.Kind.OAUTH2 else open_secret(row)
    if not isinstance(secret, Tokens):
        check_end(row)
    empty = Credential(id=str(row.pk), provider=row.provider)
    match secret:
        case Tokens(access_token=token) | ApiKey(api_key=token):
            return replace(empty, api_key=token, headers={"Authorization": f"Bearer {token}"})
        case UserPassword():
            return replace(empty, username=secret.username, password=secret.password)
        case Headers():
            return replace(empty, headers=dict(secret.headers))
        case _:
            assert_never(secret)


def check_end(row: StoredCredential) -> None:
    if row.expires_at is not None and row.expires_at <= timezone.now():
        raise CredentialExpired(
            f"{row} expired on {row.expires_at:%d %B %Y}. Put a new one in its place under credentials."
        )


def note_use(row: StoredCredential) -> None:
    """Keep `used_at` about right: one write a minute at most, however busy it is."""
    now = timezone.now()
    stale = now - timedelta(seconds=limits.CREDENTIAL_USE_NOTE_SECONDS)
    if row.used_at is not None and row.used_at > stale:
        return
    unnoted = Q(used_at=None) | Q(used_at__lte=stale)
    StoredCredential.objects.filter(unnoted, pk=row.pk).update(used_at=now)
