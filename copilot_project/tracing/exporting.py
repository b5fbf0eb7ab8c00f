"""Sending spans to a collector that may be away: said once, tried again with pauses, never waited for."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from durable import limits

logger = logging.getLogger(__name__)


def exporter_to(endpoint: str) -> SpanExporter:
    """By OTLP over HTTP; headers, certificates and compression as the OTEL_EXPORTER_OTLP_* variables say."""
    address = f"{endpoint.rstrip('/')}/v1/traces"
    return PatientExporter(OTLPSpanExporter(endpoint=address, timeout=limits.TRACE_EXPORT_SECONDS))


class PatientExporter(SpanExporter):
    """Lets spans go while the collector is away, and asks again after a pause that grows."""

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
            logger.warning("Traces are sent again; %d spans were lost meanwhile", self._lost)
        self._pause, self._lost = 0.0, 0

    def _failed(self) -> None:
        if not self._pause:
            logger.warning("The collector does not take traces; they are lost until it does")
        self._pause = min(max(2 * self._pause, limits.TRACE_FIRST_PAUSE_SECONDS), limits.TRACE_PAUSE_SECONDS)
        self._again_at = self._clock() + self._pause

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)
