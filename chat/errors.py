"""Refusals of the chat API.

Refusal
├── SessionBusy           409  a turn is running, and the input says to reject then
├── TooManyTurns          429  over the in-flight limit
├── NotQueued             409  the turn has started or ended
├── NothingToRetry        409  the session has no turn to regenerate
├── TooLongToFork         409  more turns than a fork copies
├── NoModelForYou         403  every model is for groups that the person is not in
├── NotAuthorised         401  neither the site's key nor the operation's signature
├── CompletionTooLarge    413  refused before the body is read
└── NoKeyConfigured       503  INTERNAL_API_KEY is unset and nothing is signed
"""

from __future__ import annotations

from http import HTTPStatus

from durable.errors import Refusal


class SessionBusy(Refusal):
    """A turn is running in this session. Wait for it, cancel it, or send with while_running=queue."""

    status = HTTPStatus.CONFLICT
    code = "session_busy"


class TooManyTurns(Refusal):
    """You have too many turns running and queued. Wait for one of them to end, then send again."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many_turns"
    retry_after = 5


class NotQueued(Refusal):
    """This message has been started already, so it cannot be changed. Cancel the turn instead."""

    status = HTTPStatus.CONFLICT
    code = "not_queued"


class NothingToRetry(Refusal):
    """This session has no finished turn to regenerate."""

    status = HTTPStatus.CONFLICT
    code = "nothing_to_retry"


class TooLongToFork(Refusal):
    """This conversation is too long to fork at this message. Fork it at an earlier one."""

    status = HTTPStatus.CONFLICT
    code = "too_long_to_fork"


class NoModelForYou(Refusal):
    """No model is open to you. Ask an administrator of this site for one."""

    status = HTTPStatus.FORBIDDEN
    code = "no_model"


class NotAuthorised(Refusal):
    """The request carries neither the right X-API-Key nor a fresh signature of this operation."""

    status = HTTPStatus.UNAUTHORIZED
    code = "not_authorised"


class CompletionTooLarge(Refusal):
    """The body is too large. Put large results where the operation's owner can fetch them."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "too_large"


class NoKeyConfigured(Refusal):
    """This site takes no X-API-Key: INTERNAL_API_KEY is not set. Sign the request, or set it."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "no_key_configured"
