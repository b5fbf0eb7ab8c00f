"""The id of the current request, in the web process and in the workers."""

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
    """Set the id of the request: that of the X-Request-ID header if it is valid, else a new one."""
    outside = request.headers.get("X-Request-ID", "")
    request_id.set(outside if OUTSIDE_ID.fullmatch(outside) else str(new_id()))
    return request_id.get()


def current_request_id() -> str:
    """Return the id of the current request; "-" outside of one."""
    return request_id.get()


@signals.before_task_publish.connect
def send_request_id(headers: dict[str, Any], **kwargs: Any) -> None:
    """Add the id of the current request to a poke; pokes of a sweep have none."""
    if current_request_id() != NONE:
        headers[HEADER] = current_request_id()


@signals.task_prerun.connect
def receive_request_id(task: Any, **kwargs: Any) -> None:
    """Use the id of the request that caused the job in the log lines of the worker."""
    request_id.set(task.request.get(HEADER) or NONE)
