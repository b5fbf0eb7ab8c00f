"""What users do with their credentials: add, change, delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from accounts.models import User
from boundary.errors import InvalidRequest
from boundary.http import clean_headers
from durable.database import in_transaction
from executions import limits
from executions.credentials.bound_server import Binding, binding_of, check_binding
from executions.credentials.errors import BadCredential, TooManyCredentials
from executions.credentials.secrets import FORMS, HeadersSecret, Secret, close_secret
from executions.models import StoredCredential


@dataclass(frozen=True, kw_only=True)
class NewCredential:
    """A credential to store; `host` and `port` say where it may be sent, and are required for headers and logins."""

    provider: str
    kind: str
    secret: Secret
    title: str = ""
    host: str = ""
    port: int | None = None
    ca_certificate: str = ""
    scopes: Sequence[str] = ()
    expires_at: datetime | None = None


def add_credential(user: User, new: NewCredential) -> StoredCredential:
    """Encrypt and store a credential; raises BadCredential, TooManyCredentials."""
    check_secret(new.kind, new.secret)
    wanted = Binding(host=new.host, port=new.port, ca_certificate=new.ca_certificate)
    binding = check_binding(new.kind, new.provider, wanted)

    @in_transaction
    def insert() -> StoredCredential:
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # one at a time, so the limit holds
        if StoredCredential.objects.filter(user=user).count() >= limits.MAX_CREDENTIALS_PER_USER:
            raise TooManyCredentials
        return StoredCredential.objects.create(
            user=user,
            provider=new.provider,
            kind=new.kind,
            title=new.title,
            scopes=list(new.scopes),
            expires_at=new.expires_at,
            secret=close_secret(new.secret),
            **asdict(binding),
        )

    return insert()


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The fields to change; None leaves a field as it is."""

    title: str | None = None
    host: str | None = None
    port: int | None = None
    ca_certificate: str | None = None
    secret: Secret | None = None
    expires_at: datetime | None = None


def change(credential: StoredCredential, changes: Changes) -> StoredCredential:
    """Change title, server or secret; a new secret expires only if an expiry is given with it.

    Binding a secret to another server requires the secret again, because who may change the server need not know the
    secret. Only changed fields are written: a sign-in may be renewed at the same moment.
    """
    values: dict[str, Any] = {}
    if changes.title is not None:
        values["title"] = changes.title
    values |= changed_binding(credential, changes)
    if changes.secret is not None:
        check_secret(credential.kind, changes.secret)
        values |= {"secret": close_secret(changes.secret), "expires_at": changes.expires_at}
    elif changes.expires_at is not None:
        values["expires_at"] = changes.expires_at
    for name, value in values.items():
        setattr(credential, name, value)
    credential.save(update_fields=list(values))
    return credential


def delete_credential(credential: StoredCredential) -> None:
    """Delete a credential. Whatever still refers to it fails at its next run and names what is missing."""
    credential.delete()


def changed_binding(credential: StoredCredential, changes: Changes) -> dict[str, Any]:
    """Return the changed fields of the binding; raises BadCredential."""
    if changes.host is None and changes.port is None and changes.ca_certificate is None:
        return {}
    before = binding_of(credential)
    wanted = Binding(
        host=before.host if changes.host is None else changes.host,
        port=before.port if changes.port is None else changes.port,
        ca_certificate=before.ca_certificate if changes.ca_certificate is None else changes.ca_certificate,
    )
    after = check_binding(credential.kind, credential.provider, wanted)
    if before.host and after != before and changes.secret is None:
        raise BadCredential(
            "A stored secret is not sent to another server. Enter the secret again together with the new server."
        )
    return asdict(after)


def check_secret(kind: str, secret: Secret) -> None:
    """Raise BadCredential when the secret is of another kind, or cannot be sent."""
    if not isinstance(secret, FORMS[kind]):
        raise BadCredential(f"This secret does not fit a credential of the kind {kind}.")
    if isinstance(secret, HeadersSecret):
        if not secret.headers:
            raise BadCredential("Give at least one header.")
        try:
            clean_headers(secret.headers)
        except InvalidRequest as error:
            raise BadCredential(str(error)) from None
