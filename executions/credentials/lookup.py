"""Selection of the credential a block may use, and its decryption for that use."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import assert_never

from django.db.models import Q, QuerySet
from django.utils import timezone

from blocks.ports import Credential, CredentialUnbound
from boundary.policy import HTTPS_PORT, Destination, policy_from_settings
from executions import limits
from executions.credentials.bound_server import bind_once
from executions.credentials.errors import BoundElsewhere, CredentialExpired, NotEncrypted
from executions.credentials.hosts import matches
from executions.credentials.oauth.refresh import fresh_tokens
from executions.credentials.secrets import (
    ApiKeySecret,
    HeadersSecret,
    Kind,
    OAuthTokens,
    PasswordSecret,
    open_secret,
)
from executions.models import StoredCredential


class StoredCredentials:
    """The credentials port of one user, limited to their own rows."""

    def __init__(self, user_id: int) -> None:
        self._user_id = user_id

    def find(
        self, provider: str, *, credentials_id: str = "", destination: Destination | None = None
    ) -> Credential | None:
        """Return the credential, decrypted; None if there is none. Raises CredentialUnusable, CredentialUnbound."""
        row = choose(self._user_id, provider, credentials_id=credentials_id, destination=destination)
        if row is None:
            return None
        opened = open_credential(row)
        record_use(row)
        return opened

    def bind(self, credentials_id: str, destination: Destination) -> None:
        bind_once(self._user_id, credentials_id, destination)


# --- choosing -----------------------------------------------------------------------------------


def choose(
    user_id: int, provider: str, *, credentials_id: str = "", destination: Destination | None = None
) -> StoredCredential | None:
    """Return the credential with that id; without an id the newest one for the provider and the server.

    A secret is sent only to the server its owner bound it to, never to a host that only a graph or a model named.
    """
    rows = StoredCredential.objects.filter(user_id=user_id)
    if credentials_id:
        chosen = by_id(rows, credentials_id)
        if chosen is None or not fits_provider(chosen, provider):
            return None
        check_server(chosen, destination)
        return chosen
    known = [row for row in rows if fits_provider(row, provider)]
    if destination is None:
        return newest([row for row in known if not row.host and row.kind != Kind.USER_PASSWORD], provider)
    bound = [row for row in known if matches(row.host, destination.host)]
    if bound and not may_be_sent(destination):
        raise NotEncrypted(f"Your credential for {destination.host} is only sent over https. {USE_HTTPS}")
    best = newest([row for row in bound if port_of(row) == destination.port], provider)
    if best is None:
        explain_logins([row for row in known if row.kind == Kind.USER_PASSWORD], provider, destination)
    return best


def has_credential(user_id: int, provider: str, credentials_id: str = "") -> bool:
    """Return whether the user has a credential of that provider, or the one with that id, for any server."""
    rows = StoredCredential.objects.filter(user_id=user_id, provider=provider)
    return by_id(rows, credentials_id) is not None if credentials_id else rows.exists()


def by_id(rows: QuerySet[StoredCredential], credentials_id: str) -> StoredCredential | None:
    try:
        return rows.filter(pk=uuid.UUID(credentials_id)).first()
    except ValueError:
        return None


def fits_provider(row: StoredCredential, provider: str) -> bool:
    """Return whether a block of that provider may use it: keys and headers bound to a host fit any provider."""
    bound_to_host = bool(row.host) and row.kind != Kind.USER_PASSWORD
    return bound_to_host or row.provider == provider


def newest(rows: list[StoredCredential], provider: str) -> StoredCredential | None:
    return max(rows, key=lambda row: preference(row, provider), default=None)


def preference(row: StoredCredential, provider: str) -> tuple[object, ...]:
    """Return a sort key: signed in first, then the provider's own, then exact hosts, then the newest."""
    works = row.signed_out_at is None
    return works, row.provider == provider, "*" not in row.host, row.created_at, row.pk


# --- where it may go ----------------------------------------------------------------------------

USE_HTTPS = "Use an https:// address."


def check_server(row: StoredCredential, destination: Destination | None) -> None:
    """Raise unless the row may be sent there: CredentialUnbound, BoundElsewhere, NotEncrypted."""
    if not row.host:
        if destination is not None or row.kind == Kind.USER_PASSWORD:
            raise unbound(row)
        return
    if destination is None:
        raise BoundElsewhere(
            f"{row} is only sent to one server, and this block does not name the server it sends to."
        )
    if not matches(row.host, destination.host):
        raise BoundElsewhere(
            f"{row} is bound to another server than {destination}. "
            "Correct the block, or add a credential for that server under credentials."
        )
    if not may_be_sent(destination):
        raise NotEncrypted(f"{row} is only sent to {destination.host} over https. {USE_HTTPS}")
    if port_of(row) != destination.port:
        raise wrong_port(row, destination)


def may_be_sent(destination: Destination) -> bool:
    """Return whether the connection is encrypted, or the operator allows it without TLS."""
    return destination.tls or destination in policy_from_settings().plaintext


def port_of(row: StoredCredential) -> int:
    return row.port or HTTPS_PORT


def explain_logins(logins: list[StoredCredential], provider: str, destination: Destination) -> None:
    """Raise if the user has logins of the provider but none for that server."""
    if not logins:
        return
    if here := [row for row in logins if matches(row.host, destination.host)]:
        raise wrong_port(here[0], destination)
    if waiting := [row for row in logins if not row.host]:
        raise unbound(waiting[0])
    raise BoundElsewhere(
        f"None of your {provider} logins is for {destination}. Correct the block, or add a login for that server "
        "under credentials."
    )


def unbound(row: StoredCredential) -> CredentialUnbound:
    return CredentialUnbound(
        f"{row} is not bound to a server yet, so it is not sent. Open credentials and enter the server it is for.",
        credentials_id=str(row.pk),
        title=str(row),
    )


def wrong_port(row: StoredCredential, destination: Destination) -> BoundElsewhere:
    return BoundElsewhere(
        f"{row} is for port {port_of(row)} of {destination.host}, not for port {destination.port}. "
        "Correct the port of the block, or of the credential under credentials."
    )


# --- opening ------------------------------------------------------------------------------------


def open_credential(row: StoredCredential) -> Credential:
    """Return the decrypted credential for a block; OAuth2 tokens about to expire are refreshed first."""
    secret = fresh_tokens(row) if row.kind == StoredCredential.Kind.OAUTH2 else open_secret(row)
    if not isinstance(secret, OAuthTokens):
        check_expiry(row)
    empty = Credential(id=str(row.pk), provider=row.provider, ca_certificate=row.ca_certificate)
    match secret:
        case OAuthTokens(access_token=token) | ApiKeySecret(api_key=token):
            return replace(empty, api_key=token, headers={"Authorization": f"Bearer {token}"})
        case PasswordSecret():
            return replace(empty, username=secret.username, password=secret.password)
        case HeadersSecret():
            return replace(empty, headers=dict(secret.headers))
        case _:
            assert_never(secret)


def check_expiry(row: StoredCredential) -> None:
    if row.expires_at is not None and row.expires_at <= timezone.now():
        raise CredentialExpired(f"{row} expired on {row.expires_at:%d %B %Y}. Replace it under credentials.")


def record_use(row: StoredCredential) -> None:
    """Update `used_at`, at most once a minute."""
    now = timezone.now()
    stale = now - timedelta(seconds=limits.CREDENTIAL_USE_NOTE_SECONDS)
    if row.used_at is not None and row.used_at > stale:
        return
    unnoted = Q(used_at=None) | Q(used_at__lte=stale)
    StoredCredential.objects.filter(unnoted, pk=row.pk).update(used_at=now)
