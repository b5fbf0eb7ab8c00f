"""What can be wrong with what a person asks of their webhooks.

APIException (status, code, text)
├── TooManyEndpoints     409
├── EndpointDisabled     409  nothing is sent to it now
└── StillOnItsWay        409  a delivery that has not ended cannot be replayed
"""

from __future__ import annotations

from rest_framework import status
from rest_framework.exceptions import APIException


class TooManyEndpoints(APIException):
    """You have as many webhook endpoints as one person may have."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "too_many_endpoints"
    default_detail = __doc__
    hint = "Delete one you no longer use, then make the new one."


class EndpointDisabled(APIException):
    """This endpoint is switched off, so nothing is sent to it."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "endpoint_disabled"
    default_detail = __doc__
    hint = "Set `enabled` to true first."


class StillOnItsWay(APIException):
    """This delivery has not ended yet; it is tried again by itself."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "still_on_its_way"
    default_detail = __doc__
