"""Gauges: jobs, workers, parked entries and broker queues at the moment of the scrape."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerDown
from prometheus_client.core import GaugeMetricFamily, Metric

from copilot_project.celery import app
from copilot_project.ops.checks.parts import live_workers
from durable import limits
from durable.jobs import job_models, left_behind
from durable.models import Job, ParkedEntry

logger = logging.getLogger(__name__)
SECONDS = limits.REDIS_TIMEOUT_SECONDS


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


def queue_lengths() -> dict[str, int] | None:
    """Return the messages that no worker has received, by queue; None if the broker does not answer.

    A message is only a poke: a long queue means that workers are busy or away, but an empty one does not mean that no
    job waits. The database knows that.
    """
    is_rabbit = app.conf.broker_url.startswith("amqp")
    patience = {"read_timeout": SECONDS, "write_timeout": SECONDS} if is_rabbit else {}
    with app.connection_for_read(connect_timeout=SECONDS, transport_options=patience) as connection:
        length: Callable[[Any, str], int] = length_in_rabbit if is_rabbit else length_in_redis
        away: tuple[type[BaseException], ...] = (BrokerDown, OSError, *connection.connection_errors)
        try:
            connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
            return {name: length(connection, name) for name in names()}
        except away as error:
            logger.warning("Cannot read the queue lengths from the broker: %s", error)
            return None


def names() -> list[str]:
    """Return the queues of all job models."""
    return sorted({model.queue for model in job_models()})


def length_in_redis(connection: Any, name: str) -> int:
    return int(connection.default_channel.client.llen(name))


def length_in_rabbit(connection: Any, name: str) -> int:
    """Ask on a separate channel, which RabbitMQ closes if the queue has never been declared."""
    with connection.channel() as channel:
        try:
            return int(channel.queue_declare(queue=name, passive=True).message_count)
        except connection.channel_errors:
            return 0
