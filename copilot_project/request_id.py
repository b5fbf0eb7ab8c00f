"""The id of the request being answered, wherever the code runs that answers it."""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Any

from celery import signals
from django.http import HttpRequest

from durable.ids import new_id

OUTSIDE_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
HEADER = "ratchet_request_id"  # of a Celery message
NONE = "-"
request_id: ContextVar[str] = ContextVar("request_id", default=NONE)


def identify(request: HttpRequest) -> str:
    """Give the request its id: the one a proxy gave it, if it is a decent one, else a new one."""
    outside = request.headers.get("X-Request-ID", "")
    request_id.set(outside if OUTSIDE_ID.fullmatch(outside) else str(new_id()))
    return request_id.get()


def current_request_id() -> str:
    """The id of the request being answered; "-" outside of one."""
    return request_id.get()


@signals.before_task_publish.connect
def take_along(headers: dict[str, Any], **kwargs: Any) -> None:
    """A poke carries the id of the request it is sent for; one of a sweep has none."""
    if current_request_id() != NONE:
        headers[HEADER] = current_request_id()


@signals.task_prerun.connect
def go_on_with(task: Any, **kwargs: Any) -> None:
    """What a worker logs at a job has the id of the request that asked for it."""
    request_id.set(task.request.get(HEADER) or NONE)
