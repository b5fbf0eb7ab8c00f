"""Errors as JSON-RPC has them, each with the status that HTTP carries it by.

McpError
├── UnreadableMessage      -32700  400
├── NotARequest            -32600  400
├── UnknownMethod          -32601  404
├── BadParams              -32602  400
│   └── BadArguments       a result that says so
├── InternalFault          -32603  500
├── HeaderDiffers          -32020  400
├── CapabilityMissing      -32021  400
├── VersionUnsupported     -32022  400
├── NotSignedIn            -32000  401
├── ForeignOrigin          -32000  403
└── CallsTooFast           -32000  429, with Retry-After
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError

from durable.errors import Refusal

logger = logging.getLogger(__name__)

DATABASE_AWAY = "The database cannot be reached right now. Nothing was lost; try again in a moment."
DATABASE_RETRY_SECONDS = 2.0


class McpError(Exception):
    """The request failed."""

    code: int = -32000
    status: int = HTTPStatus.BAD_REQUEST
    retry_after: float | None = None

    def __init__(self, message: str = "", *, data: Any = None) -> None:
        self.message = message or " ".join((type(self).__doc__ or "").split())
        self.data = data
        super().__init__(self.message)

    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = {"code": self.code, "message": self.message}
        return found if self.data is None else found | {"data": self.data}

    def headers(self) -> dict[str, str]:
        if self.retry_after is None:
            return {}
        return {"Retry-After": str(max(1, math.ceil(self.retry_after)))}


class UnreadableMessage(McpError):
    """The body is not valid JSON."""

    code = -32700


class NotARequest(McpError):
    """The body must be one JSON-RPC request, notification or response."""

    code = -32600


class UnknownMethod(McpError):
    """This server does not have this method."""

    code = -32601
    status = HTTPStatus.NOT_FOUND


class BadParams(McpError):
    """The parameters cannot be used like this."""

    code = -32602


class BadArguments(BadParams):
    """The arguments of the tool cannot be used like this; the model is told, so that it can correct them."""


class InternalFault(McpError):
    """Something went wrong on our side. The error was logged; please try again."""

    code = -32603
    status = HTTPStatus.INTERNAL_SERVER_ERROR


class HeaderDiffers(McpError):
    """A header is missing or differs from the body of the request."""

    code = -32020


class CapabilityMissing(McpError):
    """The client must declare a capability for this."""

    code = -32021

    def __init__(self, required: Mapping[str, Any], message: str = "") -> None:
        super().__init__(message, data={"requiredCapabilities": required})


class VersionUnsupported(McpError):
    """This version of the protocol is not supported."""

    code = -32022

    def __init__(self, requested: str, supported: list[str]) -> None:
        super().__init__(data={"requested": requested, "supported": supported})


class NotSignedIn(McpError):
    """Send an API key of your account page as `Authorization: Bearer <key>`, or sign in where the header points."""

    status = HTTPStatus.UNAUTHORIZED


class ForeignOrigin(McpError):
    """Pages of other sites may not use this address."""

    status = HTTPStatus.FORBIDDEN


class CallsTooFast(McpError):
    """Too many calls. Wait a little, then try again."""

    status = HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, *, retry_after: float) -> None:
        super().__init__()
        self.retry_after = retry_after


def translate(error: Exception) -> McpError:
    """Return any error of this site as one of JSON-RPC; log what is unexpected and show none of it."""
    match error:
        case McpError():
            return error
        case Refusal():
            return with_status(McpError(error.advice), error.status, error.retry_after)
        case Http404() | ObjectDoesNotExist():
            return BadParams("There is nothing here, or it is not yours.")
        case RequestDataTooBig():
            return with_status(NotARequest("The body is too large."), HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        case UnreadablePostError():
            return UnreadableMessage("The body could not be read.")
        case OperationalError() | InterfaceError():
            logger.warning("database unavailable", exc_info=error)
            away = InternalFault(DATABASE_AWAY)
            return with_status(away, HTTPStatus.SERVICE_UNAVAILABLE, DATABASE_RETRY_SECONDS)
        case _:
            logger.error("request failed", exc_info=error)
            return InternalFault()


def with_status(error: McpError, status: int, retry_after: float | None = None) -> McpError:
    error.status, error.retry_after = status, retry_after
    return error
