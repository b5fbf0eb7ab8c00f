"""/metrics: counts for Prometheus, read from the database, so they are right with any number of processes."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count, Min, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from accounts.models import LedgerEntry
from chat.models import Attempt, Turn
from copilot_project.checks.parts import live_workers
from tools.models import ToolCall


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Numbers only: nothing in here belongs to a person."""
    registry = CollectorRegistry()
    registry.register(DatabaseCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class DatabaseCollector(Collector):
    """What the rows say at the moment of the scrape."""

    def collect(self) -> Iterator[Metric]:
        yield from turns()
        yield from tool_calls()
        yield from usage()
        workers = GaugeMetricFamily("ratchet_workers", "Worker processes that gave a sign of life lately.")
        workers.add_metric([], live_workers().count())
        yield workers


def turns() -> Iterator[Metric]:
    by_status = GaugeMetricFamily(
        "ratchet_turns", "Turns by status and end reason.", labels=["status", "end_reason"]
    )
    for row in Turn.objects.values("status", "end_reason").annotate(count=Count("pk")).order_by():
        by_status.add_metric([row["status"], row["end_reason"]], row["count"])
    yield by_status
    oldest = Turn.objects.filter(status=Turn.QUEUED).aggregate(at=Min("queued_at"))["at"]
    age = GaugeMetricFamily(
        "ratchet_oldest_queued_turn_seconds", "How long the oldest queued turn has waited."
    )
    age.add_metric([], (timezone.now() - oldest).total_seconds() if oldest else 0)
    yield age
    takeovers = CounterMetricFamily(
        "ratchet_takeovers", "Attempts that went on with a turn another worker had begun."
    )
    takeovers.add_metric([], Attempt.objects.filter(number__gt=1).count())
    yield takeovers


def tool_calls() -> Iterator[Metric]:
    calls = CounterMetricFamily(
        "ratchet_tool_calls", "Tool calls by tool and state.", labels=["tool", "state"]
    )
    for row in ToolCall.objects.values("name", "state").annotate(count=Count("pk")).order_by():
        calls.add_metric([row["name"], row["state"]], row["count"])
    yield calls


def usage() -> Iterator[Metric]:
    total = LedgerEntry.objects.aggregate(
        tokens_in=Sum("input_tokens"), tokens_out=Sum("output_tokens"), cost=Sum("amount")
    )
    tokens = CounterMetricFamily("ratchet_tokens", "Model tokens.", labels=["direction"])
    tokens.add_metric(["in"], total["tokens_in"] or 0)
    tokens.add_metric(["out"], total["tokens_out"] or 0)
    yield tokens
    cost = CounterMetricFamily("ratchet_cost_usd", "What was charged, in US dollars.")
    cost.add_metric([], float(total["cost"] or 0))
    yield cost
