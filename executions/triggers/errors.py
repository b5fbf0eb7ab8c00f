"""What can be wrong with a trigger, or with a call of one.

APIException (status, code, text)
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

from rest_framework import status
from rest_framework.exceptions import APIException, NotFound


class UnknownHook(NotFound):
    """There is nothing here."""

    default_detail = __doc__


class WrongSignature(APIException):
    """The call is not signed as this address wants it, or too long ago."""

    status_code = status.HTTP_401_UNAUTHORIZED
    default_code = "wrong_signature"
    default_detail = __doc__


class CallTooLarge(APIException):
    """The body is too large. Send a reference to what is large instead."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"
    default_detail = __doc__


class BadPayload(APIException):
    """The body cannot be read."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "bad_payload"
    default_detail = __doc__


class TooManyCalls(APIException):
    """This address is called too often. Wait a little, then try again."""

    status_code = status.HTTP_429_TOO_MANY_REQUESTS
    default_code = "too_many_calls"
    default_detail = __doc__

    def __init__(self, *, wait: float) -> None:
        super().__init__()
        self.wait = wait


class TooManyTriggers(APIException):
    """You have as many triggers as one person may have."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "too_many_triggers"
    default_detail = __doc__
    hint = "Delete one you no longer need, then make the new one."


class BadTrigger(APIException):
    """The trigger cannot be made like this."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "bad_trigger"
    default_detail = __doc__


class NotReplayable(APIException):
    """This call cannot be replayed."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "not_replayable"
    default_detail = __doc__
