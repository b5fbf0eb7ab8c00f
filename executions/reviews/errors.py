"""What can be wrong with a decision.

APIException (status, code, text)
├── AlreadyDecided     409  somebody was first, it expired, or what asked has ended
└── NotEditable        400  the data may be looked at, not changed
"""

from __future__ import annotations

from rest_framework import status
from rest_framework.exceptions import APIException


class AlreadyDecided(APIException):
    """This review has been decided already."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "already_decided"
    default_detail = __doc__


class NotEditable(APIException):
    """The data of this review may not be changed. Approve or reject it as it is."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "not_editable"
    default_detail = __doc__
