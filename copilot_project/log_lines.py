"""How a log line looks: for people in development, as JSON in production, with the ids of what it is about."""

from __future__ import annotations

import json
import logging
import logging.config
from datetime import UTC, datetime
from typing import Any

import structlog
from django.conf import settings

from copilot_project.request_id import current_request_id
from durable.log_context import current_ids
from durable.redaction import redact

KNOWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "request_id", "taskName", "ids"}
MAX_MESSAGE_CHARACTERS = 10_000


def configure(config: dict[str, Any]) -> None:
    """Django calls this once in every process; what structlog's loggers say takes the same way."""
    logging.config.dictConfig(config)
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
        from copilot_project import sentry  # its library takes time to load, and most do without it

        sentry.start(
            settings.ENV.sentry_dsn, environment="production" if settings.PRODUCTION else "development"
        )


class Ids(logging.Filter):
    """Puts the ids of the request and of the job on every record, on the thread that wrote it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id()
        record.ids = dict(current_ids())
        return True


def facts_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields beside the message, secrets blotted out."""
    extra = {name: value for name, value in vars(record).items() if name not in KNOWN}
    return redact(getattr(record, "ids", {}) | extra)  # type: ignore[no-any-return]


class PlainLines(logging.Formatter):
    """One line for a person: when, how bad, who, what, and the fields at its end."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={value}" for name, value in facts_of(record).items())
        line = super().formatMessage(record)
        return f"{line} {fields}" if fields else line


class JsonLines(logging.Formatter):
    """One JSON object a line, for a collector of logs."""

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
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)
