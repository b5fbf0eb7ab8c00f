"""Errors in the shape of OAuth: {"error", "error_description"}.

OAuthError             400  as it says
├── UnknownClient      401  invalid_client
├── InvalidGrant       400  invalid_grant
└── BadRedirect        400  invalid_redirect_uri; never sent to the address that was given
"""

from __future__ import annotations

from http import HTTPStatus


class OAuthError(Exception):
    """The request cannot be used like this."""

    code = "invalid_request"
    status: int = HTTPStatus.BAD_REQUEST

    def __init__(self, message: str = "", *, code: str = "") -> None:
        self.message = message or " ".join((type(self).__doc__ or "").split())
        self.code = code or self.code
        super().__init__(self.message)

    def body(self) -> dict[str, str]:
        return {"error": self.code, "error_description": self.message}


class UnknownClient(OAuthError):
    """This client is not known here, or its description cannot be read."""

    code = "invalid_client"
    status = HTTPStatus.UNAUTHORIZED


class InvalidGrant(OAuthError):
    """The code or token is not valid, was used, or has expired."""

    code = "invalid_grant"


class BadRedirect(OAuthError):
    """This address is not one that the client has named."""

    code = "invalid_redirect_uri"
