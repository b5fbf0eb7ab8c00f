"""Implement `durable.tracing` with the OpenTelemetry SDK."""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from types import TracebackType

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from copilot_project import limits
from durable import tracing
from durable.errors import DurableError
from durable.tracing import AttemptSpan, Attributes, Kind

SERVICE = "ratchet"
KINDS = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "consumer": SpanKind.CONSUMER,
}
NOWHERE = Context()
_chosen: ContextVar[tuple[int, int] | None] = ContextVar("chosen_ids", default=None)
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


def start(endpoint: str) -> None:
    """Start sending spans; called once in every process. The OTEL_* variables configure the rest."""
    logging.getLogger("opentelemetry").setLevel(
        logging.CRITICAL
    )  # the exporter logs problems itself, in one line
    tracing.use(SdkTracer(exporter_to(endpoint)))
    atexit.register(tracing.close)


class ChosenIds(IdGenerator):
    """Random ids, except for attempts: theirs are derived from the job, so that any process can compute them."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()

    def generate_trace_id(self) -> int:
        chosen = _chosen.get()
        return chosen[0] if chosen else self._random.generate_trace_id()

    def generate_span_id(self) -> int:
        chosen = _chosen.get()
        return chosen[1] if chosen else self._random.generate_span_id()


class SdkTracer:
    """Creates and buffers spans, and sends them from a thread of its own."""

    def __init__(self, exporter: SpanExporter) -> None:
        resource = Resource.create(
            {
                "service.name": os.environ.get("OTEL_SERVICE_NAME", SERVICE),
                "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
            }
        )
        self._provider = TracerProvider(resource=resource, id_generator=ChosenIds(), shutdown_on_exit=False)
        self._processor = BatchSpanProcessor(exporter, schedule_delay_millis=1000 * limits.TRACE_SEND_SECONDS)
        self._provider.add_span_processor(self._processor)
        self._tracer = self._provider.get_tracer(SERVICE)

    def span(self, name: str, attributes: Attributes, kind: Kind) -> Entered:
        return Entered(self._tracer.start_span(name, kind=KINDS[kind], attributes=attributes))

    def request(self, name: str, attributes: Attributes, traceparent: str) -> Entered:
        parent = placed(traceparent) or NOWHERE
        return Entered(
            self._tracer.start_span(name, context=parent, kind=SpanKind.SERVER, attributes=attributes)
        )

    def attempt(self, attempt: AttemptSpan) -> Entered:
        """Start the span of an attempt; a job outside any trace gets one whose id is that of the job."""
        asked = placed(attempt.traceparent)
        joined = asked if attempt.joins else None
        links = [Link(of(asked))] if asked and not joined else []
        if attempt.number > 1:
            links.append(Link(place_of(attempt, attempt.number - 1, joined)))
        if attempt.lost_from and attempt.lost_until:
            self._tell_of_lost(attempt, joined)
        attributes = {**attempt.attributes, "ratchet.cause": attempt.cause}
        with named(place_of(attempt, attempt.number, joined)):
            span = self._tracer.start_span(
                attempt.job,
                context=joined or NOWHERE,
                kind=SpanKind.CONSUMER,
                attributes=attributes,
                links=links,
            )
        return Entered(span)

    def _tell_of_lost(self, attempt: AttemptSpan, joined: Context | None) -> None:
        """Record the span of the previous attempt, which could not end it because its process was killed."""
        assert attempt.lost_from and attempt.lost_until
        number = attempt.number - 1
        with named(place_of(attempt, number, joined)):
            span = self._tracer.start_span(
                attempt.job,
                context=joined or NOWHERE,
                kind=SpanKind.CONSUMER,
                attributes={**attempt.attributes, "ratchet.attempt": number, "error.type": "worker_lost"},
                start_time=nanoseconds(attempt.lost_from),
            )
        span.set_status(Status(StatusCode.ERROR))
        span.end(nanoseconds(max(attempt.lost_from, attempt.lost_until)))

    def annotate(self, attributes: Attributes) -> None:
        trace.get_current_span().set_attributes(attributes)

    def current(self) -> str:
        place = trace.get_current_span().get_span_context()
        if not place.is_valid:
            return ""
        return f"00-{place.trace_id:032x}-{place.span_id:016x}-{place.trace_flags:02x}"

    def close(self) -> None:
        """Send the buffered spans, waiting at most TRACE_EXPORT_SECONDS for the collector."""
        tracing.use(None)
        self._provider.shutdown()


class Entered:
    """A span that is current in its thread until the block ends."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._is_dropped = False

    def __enter__(self) -> Entered:
        self._token = contexts.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        contexts.detach(self._token)
        if kind is not None:
            self._span.set_attribute("error.type", kind.__name__)
            if not issubclass(kind, DurableError):  # a job that is stopped or handed over has not failed
                self._span.set_status(Status(StatusCode.ERROR))
        if not self._is_dropped:
            self._span.end()

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def fail(self, kind: str) -> None:
        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR))

    def drop(self) -> None:
        """Drop the span: one that is never ended is never sent."""
        self._is_dropped = True


def placed(traceparent: str) -> Context | None:
    """Parse a `traceparent` header; return None if it is invalid."""
    found = TraceContextTextMapPropagator().extract({"traceparent": traceparent}, NOWHERE)
    return found if trace.get_current_span(found).get_span_context().is_valid else None


def of(place: Context) -> SpanContext:
    return trace.get_current_span(place).get_span_context()


def place_of(attempt: AttemptSpan, number: int, joined: Context | None) -> SpanContext:
    """Return the span context of an attempt, which every process computes alike."""
    return SpanContext(
        trace_id=of(joined).trace_id if joined else attempt.job_id.int,
        span_id=span_id_of(attempt.job_id, number),
        is_remote=True,
        trace_flags=of(joined).trace_flags if joined else TraceFlags(TraceFlags.SAMPLED),
    )


def span_id_of(job_id: uuid.UUID, number: int) -> int:
    digest = hashlib.sha256(f"{job_id}:{number}".encode()).digest()
    return int.from_bytes(digest[:8]) or 1


@contextmanager
def named(place: SpanContext) -> Iterator[None]:
    """Give these ids to the span that is started in the block."""
    token = _chosen.set((place.trace_id, place.span_id))
    try:
        yield
    finally:
        _chosen.reset(token)


def nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
