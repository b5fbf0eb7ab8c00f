"""What can go wrong with a credential.

Refusal
└── CredentialError             400
    ├── BadCredential           400  what was given does not fit its kind
    ├── TooManyCredentials      409
    ├── NoSuchProvider          404  nobody configured a sign-in for it
    ├── SignInRefused           400  the provider, or the check of who comes back, said no
    └── SignInUnavailable       502  the provider does not answer, or not as OAuth2 wants it

PortError                            what a block hears; the text is for the person
└── CredentialUnusable
    ├── SignInAgain                  the refresh token is over, or there is none
    ├── BoundElsewhere               its owner bound it to another server than the block names
    ├── NotEncrypted                 the way to the server has no TLS
    ├── CredentialExpired            its own end has passed
    ├── RefreshFailed                the provider does not answer; later it may
    └── SecretUnreadable             no key of the site opens it
"""

from __future__ import annotations

from http import HTTPStatus

from blocks.ports import PortError
from durable.refusals import NotFound, Refusal


class CredentialError(Refusal):
    """The credential could not be handled."""

    code = "credential_error"


class BadCredential(CredentialError):
    """The credential does not fit its kind."""

    code = "bad_credential"


class TooManyCredentials(CredentialError):
    """You keep as many credentials as one person may."""

    status = HTTPStatus.CONFLICT
    code = "too_many_credentials"
    hint = "Delete one you no longer use, then add the new one."


class NoSuchProvider(CredentialError, NotFound):
    """Nobody has configured a sign-in for this provider."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class SignInRefused(CredentialError):
    """The sign-in was refused."""

    code = "sign_in_refused"
    hint = "Start the sign-in again."


class SignInUnavailable(CredentialError):
    """The provider does not answer as it should."""

    status = HTTPStatus.BAD_GATEWAY
    code = "sign_in_unavailable"
    hint = "Try again in a moment."


class CredentialUnusable(PortError):
    """The credential cannot be used."""


class SignInAgain(CredentialUnusable):
    """The sign-in has ended. Sign in again under credentials, then run it again."""


class BoundElsewhere(CredentialUnusable):
    """The credential is bound to another server. Correct the block, or keep a credential for that server."""


class NotEncrypted(CredentialUnusable):
    """The credential is sent over an encrypted connection only. Write the address with https://."""


class CredentialExpired(CredentialUnusable):
    """The credential has expired. Put a new one in its place under credentials."""


class RefreshFailed(CredentialUnusable):
    """The provider did not renew the sign-in just now. Run it again in a moment."""


class SecretUnreadable(CredentialUnusable):
    """The secret cannot be read with this site's keys. Give it anew under credentials, or ask an operator."""
