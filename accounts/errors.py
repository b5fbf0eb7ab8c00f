"""What can go wrong with a person's account.

APIException
├── OverBudget        402
├── TooManyAttempts   429
└── TooManyKeys       409
"""

from __future__ import annotations

from rest_framework import status
from rest_framework.exceptions import APIException


class OverBudget(APIException):
    """The budget is used up."""

    status_code = status.HTTP_402_PAYMENT_REQUIRED
    default_code = "over_budget"
    default_detail = __doc__
    hint = "Ask whoever runs this site to raise your budget, or wait until it resets."


class TooManyAttempts(APIException):
    """Too many tries. Wait a little, then try again."""

    status_code = status.HTTP_429_TOO_MANY_REQUESTS
    default_code = "too_many_attempts"
    default_detail = __doc__

    def __init__(self, *, wait: float) -> None:
        super().__init__()
        self.wait = wait


class TooManyKeys(APIException):
    """You have as many API keys as one person may have."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "too_many_keys"
    default_detail = __doc__
    hint = "Delete a key you no longer use, then make the new one."
