"""What can be wrong with a schedule.

APIException (status, code, text)
├── BadCron             400  no cron expression, one that is never due, or one that is due too often
└── TooManySchedules    409
"""

from __future__ import annotations

from rest_framework import status
from rest_framework.exceptions import APIException, ValidationError


class BadCron(ValidationError):
    """The cron expression cannot be used."""

    def __init__(self, message: str, *, field: str = "cron") -> None:
        self.message = message
        super().__init__({field: [message]})

    def __str__(self) -> str:
        return self.message


class TooManySchedules(APIException):
    """You have as many schedules as one person may have."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "too_many_schedules"
    default_detail = __doc__
    hint = "Delete one you no longer need, then make the new one."
