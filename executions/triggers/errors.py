"""Refusals about triggers and their calls.

Refusal
├── UnknownHook          404  no such address, or it is switched off
├── WrongSignature       401
├── CallTooLarge         413  refused before it is read
├── BadPayload           400  does not match its content type
├── TooManyCalls         429
├── TooManyTriggers      409
├── BadTrigger           400  the secret or the node does not fit
└── NotReplayable        409  refused, so it has no body; or not started yet
"""

from __future__ import annotations

from http import HTTPStatus

from durable.refusals import NotFound, Refusal


class UnknownHook(NotFound):
    """There is nothing here."""


class WrongSignature(Refusal):
    """The signature is missing, wrong or too old."""

    status = HTTPStatus.UNAUTHORIZED
    code = "wrong_signature"


class CallTooLarge(Refusal):
    """The body is too large. Send a reference to the data instead."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "too_large"


class BadPayload(Refusal):
    """The body cannot be read."""

    code = "bad_payload"


class TooManyCalls(Refusal):
    """This address is called too often. Wait a little, then try again."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many_calls"
    retry_after: float

    def __init__(self, *, retry_after: float) -> None:
        super().__init__()
        self.retry_after = retry_after


class TooManyTriggers(Refusal):
    """You have reached the maximum number of triggers."""

    status = HTTPStatus.CONFLICT
    code = "too_many_triggers"
    hint = "Delete one you no longer need, then create the new one."


class BadTrigger(Refusal):
    """The trigger cannot be created or changed like this."""

    code = "bad_trigger"


class NotReplayable(Refusal):
    """This call cannot be replayed."""

    status = HTTPStatus.CONFLICT
    code = "not_replayable"
