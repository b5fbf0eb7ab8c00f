"""How each endpoint is doing, from the requests that were made to it: recorded by workers, read by the dashboard."""

from __future__ import annotations

import time

from durable import service_health
from durable.service_health import ServiceHealth
from llm import limits
from llm.endpoint import Endpoint
from llm.errors import ContextTooLong, ModelRefused
from llm.retry import Failure

KIND = "model"
ABOUT_THE_REQUEST = ("HTTP 400", "HTTP 413", "HTTP 422")  # says nothing about the endpoint


def note_answer(endpoint: Endpoint) -> None:
    """Record an answer; one of those that follow each other closely is enough, unless it ends a failure."""
    now = time.monotonic()
    if now - _answered.get(endpoint.label, -limits.HEALTH_NOTE_SECONDS) >= limits.HEALTH_NOTE_SECONDS:
        _answered[endpoint.label] = now
        service_health.note_answer(KIND, endpoint.label)


def note_failure(endpoint: Endpoint, failure: Failure) -> None:
    """Record a failed try, unless it was the request's own fault."""
    if isinstance(failure.error, ContextTooLong | ModelRefused):
        return
    if failure.error is not None and failure.detail.startswith(ABOUT_THE_REQUEST):
        return
    _answered.pop(endpoint.label, None)
    service_health.note_failure(KIND, endpoint.label, f"{failure.kind.value}: {failure.detail}")


def read_health(endpoints: list[Endpoint]) -> dict[str, ServiceHealth] | None:
    """Return the health of each endpoint by its label; None without Redis."""
    return service_health.read_health(KIND, [endpoint.label for endpoint in endpoints])


_answered: dict[str, float] = {}  # when this process last recorded an answer of each
