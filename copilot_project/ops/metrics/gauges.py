"""Gauges: jobs, workers, parked entries and broker queues at the moment of the scrape."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, QuerySet
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric

from copilot_project.ops.checks.parts import live_workers
from copilot_project.ops.metrics.queues import queue_lengths
from durable.jobs import job_models, left_behind
from durable.models import Job, ParkedEntry


def collect() -> Iterator[Metric]:
    yield from live_jobs()
    workers = GaugeMetricFamily("ratchet_workers", "Worker processes with a recent heartbeat.")
    workers.add_metric([], live_workers().count())
    yield workers
    parked = GaugeMetricFamily(
        "ratchet_parked_entries", "Stream entries that could not be processed, by state.", labels=["state"]
    )
    for state, count in by(ParkedEntry.objects.all(), "state"):
        parked.add_metric([state], count)
    yield parked
    yield from broker()


def live_jobs() -> Iterator[Metric]:
    """Yield live jobs, the age of the oldest queued one, and stuck jobs, by kind."""
    jobs = GaugeMetricFamily(
        "ratchet_jobs", "Jobs that have not ended, by kind and status.", labels=["kind", "status"]
    )
    oldest = GaugeMetricFamily(
        "ratchet_oldest_queued_seconds", "Seconds the oldest queued job has waited.", labels=["kind"]
    )
    stuck = GaugeMetricFamily("ratchet_stuck_jobs", "Running jobs whose lease has expired.", labels=["kind"])
    for model in job_models():
        kind = model.__name__.lower()
        live = dict.fromkeys(live_statuses(model), 0)
        live |= dict(by(model.live(), "status"))
        for status, count in live.items():
            jobs.add_metric([kind, status], count)
        waiting = model.live().filter(status=model.QUEUED)
        oldest.add_metric([kind], age_of(waiting.aggregate(at=Min("queued_at"))["at"]))
        stuck.add_metric([kind], model.live().filter(left_behind(model)).count())
    yield from (jobs, oldest, stuck)


def live_statuses(model: type[Job]) -> tuple[str, ...]:
    return (str(model.QUEUED), str(model.RUNNING), str(model.WAITING))


def by(rows: QuerySet[Any], column: str) -> list[tuple[str, int]]:
    return [(str(value), count) for value, count in rows.order_by().values_list(column).annotate(Count("pk"))]


def age_of(first: datetime | None) -> float:
    """Return the seconds since `first`; 0 if it is None."""
    return max((timezone.now() - first).total_seconds(), 0.0) if first else 0.0


def broker() -> Iterator[Metric]:
    """Yield whether the broker answers, and if so the length of its queues."""
    lengths = queue_lengths()
    up = GaugeMetricFamily("ratchet_broker_up", "Whether the broker answered this scrape.")
    up.add_metric([], lengths is not None)
    yield up
    queues = GaugeMetricFamily(
        "ratchet_broker_messages", "Messages in the broker that no worker has received yet.", labels=["queue"]
    )
    for name, length in (lengths or {}).items():
        queues.add_metric([name], length)
    yield queues
