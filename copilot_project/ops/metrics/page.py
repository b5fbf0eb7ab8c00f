"""/metrics for Prometheus, read from the database, the broker and Redis, so that any process can answer."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from copilot_project.ops.metrics import gauges, redis_counters, rollup


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
        yield from redis_counters.collect()
