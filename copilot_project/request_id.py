"""The id of the request being answered, wherever the code runs that answers it."""

from __future__ import annotations

import re
from contextvars import ContextVar

from django.http import HttpRequest

from durable.ids import new_id

OUTSIDE_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
request_id: ContextVar[str] = ContextVar("request_id", default="-")


def identify(request: HttpRequest) -> str:
    """Give the request its id: the one a proxy gave it, if it is a decent one, else a new one."""
    outside = request.headers.get("X-Request-ID", "")
    request_id.set(outside if OUTSIDE_ID.fullmatch(outside) else str(new_id()))
    return request_id.get()


def current_request_id() -> str:
    """The id of the request being answered; "-" outside of one."""
    return request_id.get()
