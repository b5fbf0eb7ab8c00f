"""What is secret in each kind of credential, and its sealed form in the database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from accounts.encryption import CannotUnseal, seal, unseal
from executions.credentials.errors import SecretUnreadable
from executions.models import StoredCredential

Kind = StoredCredential.Kind


@dataclass(frozen=True, kw_only=True)
class ApiKeySecret:
    """A key or token as it is."""

    api_key: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class PasswordSecret:
    """A login."""

    username: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class HeadersSecret:
    """Headers for requests to one host."""

    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class OAuthTokens:
    """What a sign-in gave; without a refresh token it ends with its access token."""

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
    """What is stored."""
    return seal(json.dumps(asdict(secret)))


def open_secret(credential: StoredCredential) -> Secret:
    """The secret itself; raises SecretUnreadable when the site's keys do not open it."""
    try:
        fields = json.loads(unseal(credential.secret))
    except CannotUnseal:
        raise SecretUnreadable(
            f"The secret of {credential} cannot be read with this site's keys. Give it anew under credentials."
        ) from None
    return FORMS[credential.kind](**fields)
