"""Refusals about schedules.

Refusal
├── BadCron             400  not a cron expression, never due, or due too often
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
    """You have reached the maximum number of schedules."""

    status = HTTPStatus.CONFLICT
    code = "too_many_schedules"
    hint = "Delete one you no longer need, then create the new one."
