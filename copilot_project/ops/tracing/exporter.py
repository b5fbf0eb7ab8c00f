"""Send spans to a collector that may be unavailable: log it once, retry with pauses, never wait."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from copilot_project import limits

logger = logging.getLogger(__name__)


def exporter_to(endpoint: str) -> SpanExporter:
    """Return an exporter for OTLP over HTTP; the OTEL_EXPORTER_OTLP_* variables configure the rest."""
    address = f"{endpoint.rstrip('/')}/v1/traces"
    return PatientExporter(OTLPSpanExporter(endpoint=address, timeout=limits.TRACE_EXPORT_SECONDS))


class PatientExporter(SpanExporter):
    """Drops spans while the collector is unavailable, and retries after growing pauses."""

    def __init__(self, inner: SpanExporter, clock: Callable[[], float] = time.monotonic) -> None:
        self._inner = inner
        self._clock = clock
        self._pause = 0.0
        self._again_at = 0.0
        self._lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self._clock() < self._again_at:
            self._lost += len(spans)
            return SpanExportResult.FAILURE
        if self._inner.export(spans) is SpanExportResult.SUCCESS:
            self._well()
            return SpanExportResult.SUCCESS
        self._lost += len(spans)
        self._failed()
        return SpanExportResult.FAILURE

    def _well(self) -> None:
        if self._pause:
            logger.warning("The collector accepts traces again; %d spans were dropped meanwhile", self._lost)
        self._pause, self._lost = 0.0, 0

    def _failed(self) -> None:
        if not self._pause:
            logger.warning("The collector does not accept traces; spans are dropped until it does")
        self._pause = min(max(2 * self._pause, limits.TRACE_FIRST_PAUSE_SECONDS), limits.TRACE_PAUSE_SECONDS)
        self._again_at = self._clock() + self._pause

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)
