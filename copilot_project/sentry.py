"""Errors to Sentry when a DSN is set: what went wrong and where, never what people wrote or kept."""

from __future__ import annotations

import logging
from typing import Any

import sentry_sdk
from sentry_sdk.integrations.celery import CeleryIntegration
from sentry_sdk.integrations.django import DjangoIntegration
from sentry_sdk.integrations.logging import LoggingIntegration
from sentry_sdk.integrations.stdlib import StdlibIntegration

from copilot_project import tracebacks
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
    """Of an error its kind and place; of a log line the sentence, not what was put into it."""
    for error in event.get("exception", {}).get("values", ()):
        module = str(error.get("module") or "").split(".")[0]
        if module not in tracebacks.OURS:
            error["value"] = tracebacks.WITHHELD
    if "logentry" in event:
        event["logentry"] = {"message": event["logentry"].get("message", "")}


def scrubbed(event: Any, hint: Any) -> Any:
    """Keep the address of a request and nothing else of it; blot out what is secret by its name; add our ids."""
    request = event.get("request", {})
    event["request"] = {name: request[name] for name in KEPT_REQUEST_FIELDS if name in request}
    event["request"]["url"] = str(request.get("url", "")).split("?")[0]
    event.pop("breadcrumbs", None)
    withhold_values(event)
    event.setdefault("tags", {}).update({"request_id": current_request_id(), **current_ids()})
    event["extra"] = {}
    return redact(event)
