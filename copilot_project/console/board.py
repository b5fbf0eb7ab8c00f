"""What matters now: the numbers of the front page, and what is wrong in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Min, QuerySet, Sum
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.http import urlencode

from accounts.models import LedgerEntry
from chat.models import Turn
from copilot_project.checks.parts import live_workers
from copilot_project.console.charts import Chart, by_hour
from durable import jobs
from durable.models import Job, ParkedEntry, Pause, WorkerBeat

LONG_WAIT_SECONDS = 60.0
MODEL_TROUBLE = (Turn.EndReason.MODEL_ERROR, Turn.EndReason.MODEL_REFUSED, Turn.EndReason.IDLE)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Number:
    """A count, and where to see what it counts."""

    count: int
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One kind of job."""

    name: str
    queue: str
    running: Number
    queued: Number
    waiting: Number
    stuck: Number
    failed: Number
    oldest_seconds: int
    paused: bool


@dataclass(frozen=True, kw_only=True)
class WorkerRow:
    """One worker process and its last sign of life."""

    pk: int
    name: str
    kind: str
    jobs: int
    seen_at: datetime
    state: str


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Something is wrong, what to do, and where."""

    text: str
    todo: str
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class Board:
    rows: Sequence[Row]
    workers: Sequence[WorkerRow]
    troubles: Sequence[Trouble]
    charts: Sequence[Chart]
    model_errors: int
    spent_today: float
    flower_url: str


def read_board() -> Board:
    """Everything the front page shows, as it is now."""
    rows = [row_of(model) for model in jobs.job_models() if model.__module__.split(".")[0] != "tests"]
    workers = worker_rows()
    failing = Turn.objects.filter(end_reason__in=MODEL_TROUBLE, ended_at__gt=timezone.now() - HOUR).count()
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    spent = LedgerEntry.objects.filter(created_at__gte=midnight).aggregate(sum=Sum("amount"))["sum"]
    return Board(
        rows=rows,
        workers=workers,
        troubles=list(find_troubles(rows, workers, failing)),
        charts=charts(),
        model_errors=failing,
        spent_today=float(spent or 0),
        flower_url=settings.ENV.flower_url,
    )


def row_of(model: type[Job]) -> Row:
    rows: QuerySet[Any] = model._default_manager.all()
    counts = dict(rows.order_by().values_list("status").annotate(count=Count("pk")))
    oldest = rows.filter(status=model.QUEUED).aggregate(at=Min("queued_at"))["at"]
    recently = timezone.now() - HOUR
    failed = rows.filter(status=model.FAILED, ended_at__gt=recently).count()

    def number(status: str) -> Number:
        return Number(count=counts.get(status, 0), url=listing(model, status__exact=status))

    return Row(
        name=str(model._meta.verbose_name_plural),
        queue=model.queue,
        running=number(model.RUNNING),
        queued=number(model.QUEUED),
        waiting=number(model.WAITING),
        stuck=Number(count=rows.filter(jobs.left_behind(model)).count(), url=listing(model, stuck="yes")),
        failed=Number(count=failed, url=listing(model, status__exact=model.FAILED)),
        oldest_seconds=int((timezone.now() - oldest).total_seconds()) if oldest else 0,
        paused=Pause.objects.filter(kind=Pause.Kind.QUEUE, name=model.queue).exists(),
    )


def listing(model: type[Any], **filters: str) -> str:
    try:
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    except NoReverseMatch:
        return ""
    return f"{address}?{urlencode(filters)}" if filters else address


def worker_rows() -> list[WorkerRow]:
    alive = set(live_workers().values_list("pk", flat=True))
    return [
        WorkerRow(
            pk=beat.pk,
            name=beat.name,
            kind=beat.kind,
            jobs=beat.jobs,
            seen_at=beat.seen_at,
            state="silent" if beat.pk not in alive else "draining" if beat.drain_requested_at else "alive",
        )
        for beat in WorkerBeat.objects.order_by("kind", "name")
    ]


def find_troubles(rows: Sequence[Row], workers: Sequence[WorkerRow], failing: int) -> Iterator[Trouble]:
    served = {queue for worker in workers if worker.state == "alive" for queue in worker.kind.split(",")}
    for row in rows:
        if row.queue not in served:
            yield Trouble(
                text=f"No worker serves the queue {row.queue}.",
                todo="Start one; what comes meanwhile is kept and waits.",
                url=listing(WorkerBeat),
            )
        if row.stuck.count:
            yield Trouble(
                text=f"{row.stuck.count} {row.name} are stuck: nobody holds them.",
                todo="A worker takes them over within seconds; without one, release or mark them failed.",
                url=row.stuck.url,
            )
        if row.paused:
            yield Trouble(
                text=f"The queue {row.queue} is paused.",
                todo="Delete the pause to go on.",
                url=listing(Pause),
            )
        elif row.oldest_seconds > LONG_WAIT_SECONDS:
            yield Trouble(
                text=f"The oldest of {row.queued.count} queued {row.name} waits for {row.oldest_seconds} s.",
                todo="Add workers, or see whether one person fills the queue.",
                url=row.queued.url,
            )
    for worker in workers:
        if worker.state == "silent":
            yield Trouble(
                text=f"The worker {worker.name} is silent since {worker.seen_at:%H:%M:%S}.",
                todo="It died or lost the database; its jobs go to others. The line goes after an hour.",
                url=listing(WorkerBeat),
            )
    if failing:
        yield Trouble(
            text=f"{failing} turns of the last hour failed because of the model.",
            todo="Look at their errors; check the key, the quota and the provider's status.",
            url=listing(Turn, end_reason__exact=Turn.EndReason.MODEL_ERROR),
        )
    if parked := ParkedEntry.objects.filter(state=ParkedEntry.State.PARKED).count():
        yield Trouble(
            text=f"{parked} answers from outside could not be handled.",
            todo="Read their error; replay or drop them.",
            url=listing(ParkedEntry, state__exact=ParkedEntry.State.PARKED),
        )


def charts() -> list[Chart]:
    turns = Turn.objects.all()
    return [
        by_hour("Turns", turns, "queued_at", Count("pk")),
        by_hour("Failed turns", turns.filter(status=Turn.FAILED), "ended_at", Count("pk")),
        by_hour("Output tokens", LedgerEntry.objects.all(), "created_at", Sum("output_tokens")),
        by_hour("Spent", LedgerEntry.objects.all(), "created_at", Sum("amount"), money=True),
    ]
