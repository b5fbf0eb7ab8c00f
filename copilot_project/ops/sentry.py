"""Report errors to Sentry if a DSN is set: what went wrong and where, never the data of users."""

from __future__ import annotations

import logging
from typing import Any

import sentry_sdk
from sentry_sdk.integrations.celery import CeleryIntegration
from sentry_sdk.integrations.django import DjangoIntegration
from sentry_sdk.integrations.logging import LoggingIntegration
from sentry_sdk.integrations.stdlib import StdlibIntegration

from copilot_project.ops import tracebacks
from copilot_project.web.request_id import current_request_id
from durable.redaction import redact
from durable.tracing import current_ids

KEPT_REQUEST_FIELDS = ("method", "url")


def start(dsn: str, *, environment: str, transport: Any = None) -> bool:
    """Start reporting; return False without a DSN. Bodies, cookies and local variables are never sent."""
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
        integrations=[
            DjangoIntegration(),
            CeleryIntegration(),
            LoggingIntegration(event_level=logging.ERROR),
        ],
        disabled_integrations=[StdlibIntegration()],  # it would put ids into the environment of every sandbox
        before_send=scrubbed,
    )
    return True


def withhold_values(event: Any) -> None:
    """Keep the type and location of an error, and the text of a log line without its arguments."""
    for error in event.get("exception", {}).get("values", ()):
        module = str(error.get("module") or "").split(".")[0]
        if module not in tracebacks.OURS:
            error["value"] = tracebacks.WITHHELD
    if "logentry" in event:
        event["logentry"] = {"message": event["logentry"].get("message", "")}


def scrubbed(event: Any, hint: Any) -> Any:
    """Keep only the URL of a request, redact fields with secret names, and add the ids of request and job."""
    request = event.get("request", {})
    event["request"] = {name: request[name] for name in KEPT_REQUEST_FIELDS if name in request}
    event["request"]["url"] = str(request.get("url", "")).split("?")[0]
    event.pop("breadcrumbs", None)
    withhold_values(event)
    event.setdefault("tags", {}).update({"request_id": current_request_id(), **current_ids()})
    event["extra"] = {}
    return redact(event)
