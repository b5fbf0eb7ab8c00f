"""Errors to Sentry when a DSN is set: what went wrong and where, never what people wrote or kept."""

from __future__ import annotations

from typing import Any

import sentry_sdk
from sentry_sdk.integrations.celery import CeleryIntegration
from sentry_sdk.integrations.django import DjangoIntegration
from sentry_sdk.integrations.logging import LoggingIntegration

from copilot_project.request_id import current_request_id
from durable.log_context import current_ids
from durable.redaction import redact

KEPT_REQUEST_FIELDS = ("method", "url")


def start(dsn: str, *, environment: str, transport: Any = None) -> bool:
    """Begin to send; False without a DSN. No bodies, no cookies, no local variables leave this machine."""
    if not dsn:
        return False
    sentry_sdk.init(
        dsn=dsn,
        environment=environment,
        transport=transport,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        auto_enabling_integrations=False,
        integrations=[DjangoIntegration(), CeleryIntegration(), LoggingIntegration(event_level=None)],
        before_send=scrubbed,
    )
    return True


def scrubbed(event: Any, hint: Any) -> Any:
    """Keep the address of a request and nothing else of it; blot out what is secret by its name; add our ids."""
    request = event.get("request", {})
    event["request"] = {name: request[name] for name in KEPT_REQUEST_FIELDS if name in request}
    event["request"]["url"] = str(request.get("url", "")).split("?")[0]
    event.pop("breadcrumbs", None)
    event.setdefault("tags", {}).update({"request_id": current_request_id(), **current_ids()})
    event["extra"] = {}
    return redact(event)
