"""/metrics: counts for Prometheus, right with any number of processes because no process keeps them for itself."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from copilot_project.metrics import adding_up, now, tallied


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Numbers only: nothing in here belongs to a person."""
    registry = CollectorRegistry()
    registry.register(Everything())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class Everything(Collector):
    """What the rows, the broker, and the tallies in Redis say at the moment of the scrape."""

    def collect(self) -> Iterator[Metric]:
        yield from adding_up.everything().families()
        yield from now.collect()
        yield from tallied.collect()
