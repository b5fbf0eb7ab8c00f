"""What can be wrong with a request to the chat.

APIException (status, code, text)
├── SessionBusy       409  the input said: reject while running
├── TooManyTurns      429  over the in-flight limit
├── NotQueued         409  the turn has started or ended
└── NothingToRetry    409  the session has no turn to answer anew
"""

from __future__ import annotations

from rest_framework.exceptions import APIException


class SessionBusy(APIException):
    status_code = 409
    default_code = "session_busy"
    default_detail = (
        "A turn is running in this session. Wait for it, cancel it, or send with while_running=queue."
    )


class TooManyTurns(APIException):
    status_code = 429
    default_code = "too_many_turns"
    default_detail = (
        "You have too many turns running and queued. Wait for one of them to end, then send again."
    )
    wait = 5  # rendered as Retry-After


class NotQueued(APIException):
    status_code = 409
    default_code = "not_queued"
    default_detail = (
        "This message has been started already, so it cannot be changed. Cancel the turn instead."
    )


class NothingToRetry(APIException):
    status_code = 409
    default_code = "nothing_to_retry"
    default_detail = "This session has no finished turn that could be answered anew."
