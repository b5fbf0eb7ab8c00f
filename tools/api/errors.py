"""What can be wrong with an answer from an outside service.

APIException (status, code, text)
├── NotAuthorised        401  neither the site's key nor the operation's signature
├── TooLarge             413  refused before anything is computed over it
└── NoKeyConfigured      503  INTERNAL_API_KEY is unset and nothing is signed
"""

from __future__ import annotations

from rest_framework.exceptions import APIException


class NotAuthorised(APIException):
    """The request carries neither the right X-API-Key nor a fresh signature of this operation."""

    status_code = 401
    default_code = "not_authorised"
    default_detail = __doc__


class TooLarge(APIException):
    """The body is too large. Put large results where the operation's owner can fetch them."""

    status_code = 413
    default_code = "too_large"
    default_detail = __doc__


class NoKeyConfigured(APIException):
    """This site takes no X-API-Key: INTERNAL_API_KEY is not set. Sign the request, or set it."""

    status_code = 503
    default_code = "no_key_configured"
    default_detail = __doc__
