"""What can be wrong with a schedule.

Refusal
├── BadCron             400  no cron expression, one that is never due, or one that is due too often
└── TooManySchedules    409
"""

from __future__ import annotations

from http import HTTPStatus

from durable.refusals import InvalidFields, Refusal


class BadCron(InvalidFields):
    """The cron expression cannot be used."""

    def __init__(self, message: str, *, field: str = "cron") -> None:
        super().__init__({field: [message]})


class TooManySchedules(Refusal):
    """You have as many schedules as one person may have."""

    status = HTTPStatus.CONFLICT
    code = "too_many_schedules"
    hint = "Delete one you no longer need, then make the new one."
