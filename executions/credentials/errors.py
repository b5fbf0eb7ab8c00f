"""Errors of credentials.

Refusal
└── CredentialError             400
    ├── BadCredential           400  the values do not fit the kind
    ├── TooManyCredentials      409
    ├── NoSuchProvider          404  no sign-in is configured for it
    ├── SignInRefused           400  by the provider, or by the check of the returning user
    └── SignInUnavailable       502  the provider does not answer, or not according to OAuth2

PortError                            raised in a block; the text is shown to the user
└── CredentialUnusable
    ├── SignInAgain                  the refresh token has expired, or there is none
    ├── BoundElsewhere               it is bound to another server than the block's
    ├── NotEncrypted                 the connection has no TLS
    ├── CredentialExpired            its expiry date has passed
    ├── RefreshFailed                the provider does not answer; a retry may help
    └── SecretUnreadable             none of the site's keys decrypts it
"""

from __future__ import annotations

from http import HTTPStatus

from blocks.ports import PortError
from durable.errors import NotFound, Refusal


class CredentialError(Refusal):
    """The credential could not be handled."""

    code = "credential_error"


class BadCredential(CredentialError):
    """The credential does not fit its kind."""

    code = "bad_credential"


class TooManyCredentials(CredentialError):
    """You have reached the maximum number of credentials."""

    status = HTTPStatus.CONFLICT
    code = "too_many_credentials"
    hint = "Delete one you no longer use, then add the new one."


class NoSuchProvider(CredentialError, NotFound):
    """No sign-in is configured for this provider."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class SignInRefused(CredentialError):
    """The sign-in was refused."""

    code = "sign_in_refused"
    hint = "Start the sign-in again."


class SignInUnavailable(CredentialError):
    """The provider gave no usable answer."""

    status = HTTPStatus.BAD_GATEWAY
    code = "sign_in_unavailable"
    hint = "Try again in a moment."


class CredentialUnusable(PortError):
    """The credential cannot be used."""


class SignInAgain(CredentialUnusable):
    """The sign-in has expired. Sign in again under credentials, then run it again."""


class BoundElsewhere(CredentialUnusable):
    """The credential is bound to another server. Correct the block, or add a credential for that server."""


class NotEncrypted(CredentialUnusable):
    """The credential is only sent over an encrypted connection. Use an https:// address."""


class CredentialExpired(CredentialUnusable):
    """The credential has expired. Replace it under credentials."""


class RefreshFailed(CredentialUnusable):
    """The provider did not renew the sign-in. Run it again in a moment."""


class SecretUnreadable(CredentialUnusable):
    """The secret cannot be read with this site's keys. Enter it again under credentials, or ask an operator."""
