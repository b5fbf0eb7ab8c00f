"""What a person can do with their credentials: keep one, change it, forget it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounts.models import User
from boundary.errors import InvalidRequest
from boundary.http import clean_headers
from durable import limits
from durable.retrying import in_transaction
from executions.credentials.errors import BadCredential, TooManyCredentials
from executions.credentials.hosts import normalise_host
from executions.credentials.secrets import FORMS, Headers, Kind, Secret, close_secret
from executions.models import StoredCredential


@dataclass(frozen=True, kw_only=True)
class NewCredential:
    """What is to be kept; `host` is where it may be sent, and needed for headers."""

    provider: str
    kind: str
    secret: Secret
    title: str = ""
    host: str = ""
    scopes: Sequence[str] = ()
    expires_at: datetime | None = None


def keep(user: User, new: NewCredential) -> StoredCredential:
    """Seal and store it; raises BadCredential, TooManyCredentials."""
    check_secret(new.kind, new.secret)
    host = checked_host(new.kind, new.host)

    @in_transaction
    def insert() -> StoredCredential:
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two at once cannot both be the last
        if StoredCredential.objects.filter(user=user).count() >= limits.MAX_CREDENTIALS_PER_USER:
            raise TooManyCredentials
        return StoredCredential.objects.create(
            user=user,
            provider=new.provider,
            kind=new.kind,
            title=new.title,
            host=host,
            scopes=list(new.scopes),
            expires_at=new.expires_at,
            secret=close_secret(new.secret),
        )

    return insert()


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What is to be different; None leaves it as it is."""

    title: str | None = None
    host: str | None = None
    secret: Secret | None = None
    expires_at: datetime | None = None


def change(credential: StoredCredential, changes: Changes) -> StoredCredential:
    """Give it another title, host or secret; a new secret has only the end that is given with it.

    Nothing else is written: a sign-in may be renewed at the same moment.
    """
    values: dict[str, Any] = {}
    if changes.title is not None:
        values["title"] = changes.title
    if changes.host is not None:
        values["host"] = checked_host(credential.kind, changes.host)
    if changes.secret is not None:
        check_secret(credential.kind, changes.secret)
        values |= {"secret": close_secret(changes.secret), "expires_at": changes.expires_at}
    elif changes.expires_at is not None:
        values["expires_at"] = changes.expires_at
    for name, value in values.items():
        setattr(credential, name, value)
    credential.save(update_fields=list(values))
    return credential


def forget(credential: StoredCredential) -> None:
    """Delete it for good. What still names it fails at its next run and says what is missing."""
    credential.delete()


def checked_host(kind: str, host: str) -> str:
    if kind == Kind.USER_PASSWORD:
        if host:
            raise BadCredential("A login is used by the block that asks for it; it has no host.")
        return ""
    if host:
        return normalise_host(host)
    if kind == Kind.HOST_SCOPED:
        raise BadCredential(
            "Headers are sent to one host only. Say which in `host`, such as api.example.com."
        )
    return ""


def check_secret(kind: str, secret: Secret) -> None:
    """Raise BadCredential when it is another kind's, or cannot be sent."""
    if not isinstance(secret, FORMS[kind]):
        raise BadCredential(f"This is not what a credential of the kind {kind} is made of.")
    if isinstance(secret, Headers):
        if not secret.headers:
            raise BadCredential("Give at least one header.")
        try:
            clean_headers(secret.headers)
        except InvalidRequest as error:
            raise BadCredential(str(error)) from None
