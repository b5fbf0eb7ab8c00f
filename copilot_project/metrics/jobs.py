"""The queues and who works on them: every kind of job, workers, tool calls, deliveries."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Min
from prometheus_client.core import GaugeMetricFamily, Metric

from copilot_project.checks.parts import live_workers
from copilot_project.metrics.families import age_of, by_labels, durations, gauge
from durable.jobs import job_models, left_behind
from durable.models import ParkedEntry
from executions.models import Execution
from tools.models import Operation, ToolCall
from webhooks.models import WebhookDelivery


def collect() -> Iterator[Metric]:
    yield from queues()
    yield gauge(
        "ratchet_workers", "Worker processes that gave a sign of life lately.", live_workers().count()
    )
    ended = {"status": "status", "end_reason": "end_reason"}
    yield by_labels(
        "ratchet_operations", "Operations by status and end reason.", Operation.objects.all(), ended
    )
    yield by_labels(
        "ratchet_executions", "Executions by status and end reason.", Execution.objects.all(), ended
    )
    yield by_labels(
        "ratchet_webhook_deliveries",
        "Webhook deliveries by status.",
        WebhookDelivery.objects.all(),
        {"status": "status"},
    )
    yield by_labels(
        "ratchet_parked_entries",
        "Stream entries that could not be handled.",
        ParkedEntry.objects.all(),
        {"state": "state"},
    )
    calls = ToolCall.objects.all()
    yield by_labels(
        "ratchet_tool_calls", "Tool calls by tool and state.", calls, {"tool": "name", "state": "state"}
    )
    yield durations(
        "ratchet_tool_call_seconds",
        "How long tool calls took, by tool.",
        calls,
        start="started_at",
        end="ended_at",
        label=("tool", "name"),
    )


def queues() -> Iterator[Metric]:
    """What waits, for how long, and what no worker holds although it runs, by kind of job."""
    queued = GaugeMetricFamily("ratchet_queued_jobs", "Jobs that wait for a worker.", labels=["kind"])
    oldest = GaugeMetricFamily(
        "ratchet_oldest_queued_seconds", "How long the oldest queued job has waited.", labels=["kind"]
    )
    stuck = GaugeMetricFamily(
        "ratchet_stuck_jobs", "Jobs that run by their row, and whose lease is over.", labels=["kind"]
    )
    for model in job_models():
        kind = [model.__name__.lower()]
        waiting = model._default_manager.filter(status=model.QUEUED)
        queued.add_metric(kind, waiting.count())
        oldest.add_metric(kind, age_of(waiting.aggregate(at=Min("queued_at"))["at"]))
        stuck.add_metric(kind, model._default_manager.filter(left_behind(model)).count())
    yield from (queued, oldest, stuck)
