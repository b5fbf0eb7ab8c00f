"""Refusals about a user's account.

Refusal
├── OverBudget        402
├── TooManyAttempts   429
└── TooManyKeys       409
"""

from __future__ import annotations

from http import HTTPStatus

from durable.errors import Refusal


class OverBudget(Refusal):
    """The budget is used up."""

    status = HTTPStatus.PAYMENT_REQUIRED
    code = "over_budget"
    hint = "Ask the people who run this site to raise your budget, or wait until it resets."


class TooManyAttempts(Refusal):
    """Too many attempts. Wait a little, then try again."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many_attempts"
    retry_after: float

    def __init__(self, *, retry_after: float) -> None:
        super().__init__()
        self.retry_after = retry_after


class TooManyKeys(Refusal):
    """You have reached the maximum number of API keys."""

    status = HTTPStatus.CONFLICT
    code = "too_many_keys"
    hint = "Delete a key that you no longer use, then create the new one."
