"""Errors of the site that concern all views, and the translation of a package's Refusal for DRF.

APIException
├── RefusedRequest    as the Refusal says
├── BadRequest        400
├── LengthRequired    411
├── PayloadTooLarge   413
├── Internal          500
└── Unavailable       503
"""

from __future__ import annotations

from rest_framework import exceptions, status

from copilot_project.limits import DATABASE_RETRY_SECONDS
from copilot_project.web.request_id import current_request_id
from durable.errors import Refusal


class RefusedRequest(exceptions.APIException):
    """A use case refused the request."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message, refusal.code)
        self.status_code, self.hint, self.wait = refusal.status, refusal.hint, refusal.retry_after


class PayloadTooLarge(exceptions.APIException):
    """The request's body is too large."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"
    default_detail = __doc__


class BadRequest(exceptions.APIException):
    """The request cannot be understood."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "bad_request"
    default_detail = __doc__


class LengthRequired(exceptions.APIException):
    """The request body has no Content-Length. Send one."""

    status_code = status.HTTP_411_LENGTH_REQUIRED
    default_code = "length_required"
    default_detail = __doc__


class Unavailable(exceptions.APIException):
    """The database cannot be reached right now. Nothing was lost; try again in a moment."""

    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "unavailable"
    default_detail = __doc__
    wait = DATABASE_RETRY_SECONDS


class Internal(exceptions.APIException):
    """Something went wrong on our side."""

    status_code = status.HTTP_500_INTERNAL_SERVER_ERROR
    default_code = "internal"
    default_detail = __doc__

    def __init__(self) -> None:
        super().__init__()
        self.hint = (
            f"Try again; if it keeps happening, give the administrator the request id {current_request_id()}."
        )
