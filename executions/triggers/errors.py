"""What can be wrong with a trigger, or with a call of one.

Refusal
├── UnknownHook          404  no such address, or it is switched off
├── WrongSignature       401
├── CallTooLarge         413  refused before it is read
├── BadPayload           400  it is not what its content type says
├── TooManyCalls         429
├── TooManyTriggers      409
├── BadTrigger           400  the secret or the node does not fit
└── NotReplayable        409  it was refused, so it has no body; or it is on its way
"""

from __future__ import annotations

from http import HTTPStatus

from durable.refusals import NotFound, Refusal


class UnknownHook(NotFound):
    """There is nothing here."""


class WrongSignature(Refusal):
    """The call is not signed as this address wants it, or too long ago."""

    status = HTTPStatus.UNAUTHORIZED
    code = "wrong_signature"


class CallTooLarge(Refusal):
    """The body is too large. Send a reference to what is large instead."""

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
    """You have as many triggers as one person may have."""

    status = HTTPStatus.CONFLICT
    code = "too_many_triggers"
    hint = "Delete one you no longer need, then make the new one."


class BadTrigger(Refusal):
    """The trigger cannot be made like this."""

    code = "bad_trigger"


class NotReplayable(Refusal):
    """This call cannot be replayed."""

    status = HTTPStatus.CONFLICT
    code = "not_replayable"
