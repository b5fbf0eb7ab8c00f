"""Errors in the shape of OpenAI: {"error": {"message", "type", "param", "code"}}.

OpenAIError              as it says
├── UnusableRequest      400  invalid_request_error
├── InvalidKey           401  invalid_api_key
├── UnknownModel         404  model_not_found
├── UnknownResponse      404
├── OutOfQuota           429  insufficient_quota
└── TooFast              429  rate_limit_exceeded, with Retry-After
"""

from __future__ import annotations

import logging
import math
from http import HTTPStatus
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, JsonResponse, UnreadablePostError

from accounts.errors import OverBudget
from chat.models import Turn
from durable.errors import InvalidFields, Refusal

logger = logging.getLogger(__name__)

INVALID = "invalid_request_error"
AS_WRITTEN = {"separators": (",", ":"), "ensure_ascii": False}
NOT_HERE = "There is nothing here, or it is not yours."
DATABASE_RETRY_SECONDS = 2.0


class OpenAIError(Exception):
    """The request failed."""

    status: int = HTTPStatus.BAD_REQUEST
    kind: str = INVALID
    code: str | None = None
    retry_after: float | None = None

    def __init__(self, message: str = "", *, param: str | None = None, code: str | None = None) -> None:
        self.message = message or " ".join((type(self).__doc__ or "").split())
        self.param = param
        self.code = code or self.code
        super().__init__(self.message)

    def body(self) -> dict[str, Any]:
        return {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}


class UnusableRequest(OpenAIError):
    """The request cannot be used like this."""


class InvalidKey(OpenAIError):
    """This API key is not valid. Create one on your account page and send it as `Authorization: Bearer <key>`."""

    status = HTTPStatus.UNAUTHORIZED
    code = "invalid_api_key"


class UnknownModel(OpenAIError):
    """This model does not exist, or this key may not use it. GET /v1/models lists those it may use."""

    status = HTTPStatus.NOT_FOUND
    code = "model_not_found"


class UnknownResponse(OpenAIError):
    """There is no such response, or it is not yours."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class OutOfQuota(OpenAIError):
    """The budget is used up."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    kind = "insufficient_quota"
    code = "insufficient_quota"


class TooFast(OpenAIError):
    """Too many requests. Wait a little, then send again."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    kind = "requests"
    code = "rate_limit_exceeded"

    def __init__(self, *, retry_after: float, message: str = "") -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServerError(OpenAIError):
    """Something went wrong on our side. The error was logged; please try again."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    kind = "server_error"


def translate(error: Exception) -> OpenAIError:
    """Return any error of this site in the words of OpenAI; log what is unexpected and show none of it."""
    match error:
        case OpenAIError():
            return error
        case OverBudget():
            return OutOfQuota(error.advice)
        case InvalidFields():
            return UnusableRequest(error.message, param=next(iter(error.fields), None))
        case Refusal() if error.status == HTTPStatus.TOO_MANY_REQUESTS:
            return TooFast(retry_after=error.retry_after or 1.0, message=error.advice)
        case Refusal():
            refused = OpenAIError(error.advice, code=error.code)
            refused.status = error.status
            return refused
        case Http404() | ObjectDoesNotExist():
            missing = OpenAIError(NOT_HERE, code="not_found")
            missing.status = HTTPStatus.NOT_FOUND
            return missing
        case RequestDataTooBig():
            large = OpenAIError("The request's body is too large.", code="request_too_large")
            large.status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            return large
        case UnreadablePostError():
            return UnusableRequest("The request's body could not be read.")
        case OperationalError() | InterfaceError():
            logger.warning("database unavailable", exc_info=error)
            away = ServerError(
                "The database cannot be reached right now. Nothing was lost; try again in a moment."
            )
            away.status, away.retry_after = HTTPStatus.SERVICE_UNAVAILABLE, DATABASE_RETRY_SECONDS
            return away
        case _:
            logger.error("request failed", exc_info=error)
            return ServerError()


def respond(error: Exception) -> JsonResponse:
    """Return an error as OpenAI would."""
    known = translate(error)
    headers = {}
    if known.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(known.retry_after)))
    if known.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="api"'
    if known.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT):
        headers["X-Should-Retry"] = "false"  # the same request would be refused again
    return JsonResponse(
        {"error": known.body()}, status=known.status, headers=headers, json_dumps_params=AS_WRITTEN
    )


def of_turn(turn: Turn) -> OpenAIError:
    """Return why a turn failed, as an error of the request that asked for it."""
    message = turn.error or "The answer failed."
    if turn.end_reason == Turn.EndReason.BUDGET:
        return OutOfQuota(message)
    if turn.end_reason == Turn.EndReason.MODEL_REFUSED:
        return UnusableRequest(message, code="content_filter")
    failed = ServerError(message, code=turn.end_reason or None)
    failed.status = HTTPStatus.BAD_GATEWAY if turn.end_reason == "model_error" else failed.status
    return failed
