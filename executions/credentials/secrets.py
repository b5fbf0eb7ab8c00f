"""The secret part of each kind of credential, and its encrypted form in the database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from durable.encryption import CannotUnseal, seal, unseal
from executions.credentials.errors import SecretUnreadable
from executions.models import StoredCredential

Kind = StoredCredential.Kind


@dataclass(frozen=True, kw_only=True)
class ApiKeySecret:
    """A key or token."""

    api_key: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class PasswordSecret:
    """A user name and password."""

    username: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class HeadersSecret:
    """Headers for requests to one host."""

    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class OAuthTokens:
    """The tokens of a sign-in; without a refresh token it ends when the access token expires."""

    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)


Secret = ApiKeySecret | PasswordSecret | HeadersSecret | OAuthTokens
FORMS: Mapping[str, type[Secret]] = {
    Kind.API_KEY: ApiKeySecret,
    Kind.USER_PASSWORD: PasswordSecret,
    Kind.HOST_SCOPED: HeadersSecret,
    Kind.OAUTH2: OAuthTokens,
}


def close_secret(secret: Secret) -> str:
    """Return the encrypted form that is stored."""
    return seal(json.dumps(asdict(secret)))


def open_secret(credential: StoredCredential) -> Secret:
    """Return the decrypted secret; raises SecretUnreadable when none of the site's keys decrypts it."""
    try:
        fields = json.loads(unseal(credential.secret))
    except CannotUnseal:
        raise SecretUnreadable(
            f"The secret of {credential} cannot be read with this site's keys. Enter it again under credentials."
        ) from None
    return FORMS[credential.kind](**fields)
