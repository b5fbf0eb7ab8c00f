"""Log lines: plain text in development, JSON in production, both with the ids of the request and the job."""

from __future__ import annotations

import json
import logging
import logging.config
from datetime import UTC, datetime
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from copilot_project.ops import tracebacks
from copilot_project.web.request_id import current_request_id
from durable import tracing
from durable.redaction import redact
from durable.tracing import current_ids

KNOWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "request_id", "taskName", "ids"}
MAX_MESSAGE_CHARACTERS = 10_000


def configure(config: dict[str, Any]) -> None:
    """Configure logging, including structlog, Sentry and tracing. Django calls this once in every process."""
    logging.config.dictConfig(config)
    logging.captureWarnings(settings.LOG_AS_JSON)  # log Python warnings like everything else
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.processors.format_exc_info,
            structlog.stdlib.render_to_log_kwargs,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    if settings.ENV.sentry_dsn:
        from copilot_project.ops import sentry  # its library is slow to load, and rarely needed

        sentry.start(
            settings.ENV.sentry_dsn, environment="production" if settings.PRODUCTION else "development"
        )
    if settings.ENV.otlp_endpoint:
        start_tracing(settings.ENV.otlp_endpoint)


def start_tracing(endpoint: str) -> None:
    try:
        from copilot_project.ops.tracing import sdk  # optional packages
    except ImportError as error:
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages for tracing are not installed. "
            "Install requirements/traces.txt, or unset it."
        ) from error
    sdk.start(endpoint)


class Ids(logging.Filter):
    """Adds the ids of the request and the job to every record, on the thread that wrote it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id()
        trace_id = tracing.current_trace_id()
        record.ids = dict(current_ids()) | ({"trace_id": trace_id} if trace_id else {})
        return True


def facts_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a record besides its message, with secrets redacted."""
    extra = {name: value for name, value in vars(record).items() if name not in KNOWN}
    return redact(getattr(record, "ids", {}) | extra)  # type: ignore[no-any-return]


class PlainLines(logging.Formatter):
    """One line of text: time, level, logger, message and fields."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={value}" for name, value in facts_of(record).items())
        line = super().formatMessage(record)
        return f"{line} {fields}" if fields else line

    def formatException(self, exc_info: Any) -> str:
        """Format the full traceback in development, and a redacted one in production."""
        return tracebacks.render(exc_info[1]) if settings.PRODUCTION else super().formatException(exc_info)


class JsonLines(logging.Formatter):
    """One JSON object per line, for log collectors."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage()[:MAX_MESSAGE_CHARACTERS],
            "process": record.process,
        }
        if (request_id := getattr(record, "request_id", "-")) != "-":
            line["request_id"] = request_id
        line |= facts_of(record)
        if record.exc_info and record.exc_info[1] is not None:
            line["traceback"] = tracebacks.render(record.exc_info[1])
        return json.dumps(line, default=str, ensure_ascii=False)
