"""/metrics for Prometheus, read from the database, the broker and Redis, so that any process can answer."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from copilot_project.ops.metrics import gauges, rollup
from durable import counters
from durable.counters import CounterBuffer

HELP = {
    CounterBuffer.FENCED_WRITES: "Writes refused because another attempt owned the job.",
    CounterBuffer.RESYNCS: "Readers that missed events and were resynchronised from the log or the database.",
    CounterBuffer.DROPPED_CLIENTS: "Clients that were disconnected because they did not read.",
    CounterBuffer.MODEL_ERRORS: "Failed requests to the model, by kind; most are retried.",
}
LABELS = {CounterBuffer.MODEL_ERRORS: "kind"}


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer a scrape. Nothing in it identifies a user."""
    registry = CollectorRegistry()
    registry.register(ProductCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class ProductCollector(Collector):
    """Collects all metrics at the moment of the scrape."""

    def collect(self) -> Iterator[Metric]:
        yield from rollup.everything().families()
        yield from gauges.collect()
        yield from event_counters()


def event_counters() -> Iterator[Metric]:
    """Yield the counters; nothing without Redis, so that the graph shows a gap."""
    found = counters.read()
    if found is None:
        return
    for tally, text in HELP.items():
        label = LABELS.get(tally)
        family = CounterMetricFamily(f"ratchet_{tally}", text, labels=[label] if label else [])
        rows = {value: number for (name, value), number in found.items() if name == tally}
        for value, number in (rows or ({} if label else {"": 0})).items():
            family.add_metric([value] if label else [], number)
        yield family
