"""Every error of the API in one form: {"error": {"code", "message", "hint"?, "fields"?}}.

Packages raise a Refusal (durable/errors.py), views also DRF's own APIException. `handle` is DRF's exception
handler; the handlers of errors outside DRF's views are in web/pages.py and answer in the same form.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import (
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from copilot_project.web.http_errors import (
    BadRequest,
    Internal,
    PayloadTooLarge,
    RefusedRequest,
    Unavailable,
)
from durable.errors import InvalidFields, NotFound, Refusal

log = logging.getLogger(__name__)

NOT_FOUND = "There is nothing here, or it is not yours."
LOG_IN = "Log in, or send `Authorization: Bearer <API key>`; ./copilot apikey USERNAME makes a key."


def handle(exc: Exception, context: Mapping[str, Any]) -> Response:
    """Answer with any error a view raised, as DRF's exception handler."""
    error = as_api_exception(exc)
    set_rollback()
    return Response(envelope(error), status=error.status_code, headers=headers_of(error))


def as_api_exception(exc: BaseException | None) -> exceptions.APIException:
    """Return the error in DRF's terms; log what is unexpected with its traceback and show none of it."""
    match exc:
        case exceptions.APIException():
            return exc
        case NotFound():
            return exceptions.NotFound()
        case InvalidFields():
            return exceptions.ValidationError(exc.fields)
        case Refusal():
            return RefusedRequest(exc)
        case Http404() | ObjectDoesNotExist():
            return exceptions.NotFound()
        case PermissionDenied():
            return exceptions.PermissionDenied()
        case RequestDataTooBig():
            return PayloadTooLarge()
        case SuspiciousOperation() | UnreadablePostError():
            return BadRequest()
        case DjangoValidationError():
            return exceptions.ValidationError(exc.messages)
        case OperationalError() | InterfaceError():
            log.warning("database unavailable", exc_info=exc)
            return Unavailable()
        case _:
            log.error("request failed", exc_info=exc)
            return Internal()


def envelope(error: exceptions.APIException) -> dict[str, Any]:
    """Return the body of the answer to an error."""
    return {"error": contents(error)}


def contents(error: exceptions.APIException) -> dict[str, Any]:
    if isinstance(error, exceptions.NotFound):
        return {"code": "not_found", "message": NOT_FOUND}  # the same whether it is missing or another's
    if isinstance(error, exceptions.ValidationError):
        return invalid(error)
    hint = getattr(error, "hint", LOG_IN if isinstance(error, exceptions.NotAuthenticated) else None)
    body = {"code": code_of(error), "message": str(error.detail)}
    return body | {"hint": str(hint)} if hint else body


def invalid(error: exceptions.ValidationError) -> dict[str, Any]:
    """Return the problems of each field by its path, e.g. `permissions.tools.allow`."""
    fields: dict[str, list[str]] = {}
    for path, message in messages_of(error.detail):
        fields.setdefault(path, []).append(message)
    general = fields.pop("", [])
    body: dict[str, Any] = {"code": "invalid", "message": " ".join(general)}
    if fields:
        body["message"] = " ".join([*general, f"Please correct: {', '.join(fields)}."])
        body["fields"] = fields
    return body


def messages_of(detail: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Flatten DRF's nested details into (dotted path, message)."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            own = () if name == "non_field_errors" else (str(name),)
            yield from messages_of(inner, path + own)
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, (Mapping, list))
            yield from messages_of(inner, (*path, str(index)) if nested else path)
    else:
        yield ".".join(path), str(detail)


def code_of(error: exceptions.APIException) -> str:
    codes = error.get_codes()
    return codes if isinstance(codes, str) else error.default_code


def headers_of(error: exceptions.APIException) -> dict[str, str]:
    headers = {}
    challenge, wait = getattr(error, "auth_header", None), getattr(error, "wait", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    if wait is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    return headers
