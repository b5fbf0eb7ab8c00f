"""Read everything that the dashboard shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, F, Min, QuerySet, Sum
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.http import urlencode

from accounts.models import LedgerEntry
from chat.models import Turn
from chat.turns import unanswered
from copilot_project.ops.console.charts import Chart, by_hour, of_counts
from copilot_project.ops.console.servers import Servers, check_servers
from copilot_project.ops.metrics.gauges import queue_lengths
from durable import counters, jobs, worker_state
from durable.counters import CounterBuffer
from durable.lifecycle import lifecycle_of
from durable.models import Job, ParkedEntry, Pause, WorkerBeat
from durable.pauses import Pauses, has_user
from durable.service_health import ServiceHealth
from llm.endpoint_health import read_health
from llm.endpoint_rows import known_rows, refresh_if_old
from llm.endpoints import endpoints, row_problems
from llm.errors import BadModelRequest
from llm.models import ModelEndpoint
from llm.offers import known_endpoints

MODEL_TROUBLE = (Turn.EndReason.MODEL_ERROR, Turn.EndReason.MODEL_REFUSED, Turn.EndReason.IDLE)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SHOWN_STUCK = 10
LATE_SECONDS = 5.0  # a free worker starts a job within one


@dataclass(frozen=True, kw_only=True)
class Number:
    """A count, and the URL of the rows it counts."""

    count: int
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class JobKindRow:
    """One kind of job, and its queue."""

    name: str
    singular: str
    queue: str
    running: Number
    queued: Number
    waiting: Number
    stuck: Number
    failed: Number
    oldest_seconds: float
    late: int  # could have started by now if a worker were free
    messages: int | None  # in the broker; None if it does not answer
    pause: Pause | None


@dataclass(frozen=True, kw_only=True)
class StuckJob:
    """A job that is marked running but held by no worker."""

    name: str
    owner: str
    over_seconds: float | None  # since the lease expired; None if it was released
    age_seconds: float
    attempt: int
    url: str


@dataclass(frozen=True, kw_only=True)
class WorkerRow:
    """One worker process and its last heartbeat."""

    pk: int
    name: str
    queues: Sequence[str]
    jobs: int
    seen_at: datetime
    quiet_seconds: float
    state: str


@dataclass(frozen=True, kw_only=True)
class ModelState:
    """The model in the last hour: failed turns that are still unanswered, and failed requests."""

    name: str
    failed_turns: Number
    errors: dict[str, int] | None  # by kind; None if Redis does not answer

    @property
    def error_count(self) -> int:
        return sum((self.errors or {}).values())


@dataclass(frozen=True, kw_only=True)
class EndpointRow:
    """One model server, and how the last requests to it went."""

    name: str
    address: str
    dialect: str
    models: str
    source: str  # settings or admin
    state: str
    health: ServiceHealth
    url: str

    @property
    def failing_seconds(self) -> float:
        since = self.health.failing_since
        return max((timezone.now() - since).total_seconds(), 0.0) if since else 0.0


@dataclass(frozen=True, kw_only=True)
class Dashboard:
    at: datetime
    servers: Servers
    rows: Sequence[JobKindRow]
    stuck: Sequence[StuckJob]
    workers: Sequence[WorkerRow]
    model: ModelState
    endpoints: Sequence[EndpointRow]
    endpoint_problems: Sequence[str]
    parked: Number
    paused_people: int
    spent_today: float
    charts: Sequence[Chart]
    flower_url: str

    @property
    def live_workers(self) -> int:
        return sum(worker.state != worker_state.SILENT for worker in self.workers)


def read_dashboard() -> Dashboard:
    """Read the current state."""
    now = timezone.now()
    recent = counters.read_lately(DAY.total_seconds())
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    spent = LedgerEntry.objects.filter(created_at__gte=midnight).aggregate(sum=Sum("amount"))["sum"]
    parked = ParkedEntry.objects.filter(state=ParkedEntry.State.PARKED).count()
    lengths = queue_lengths()
    return Dashboard(
        at=now,
        servers=check_servers(redis=recent is not None, broker=lengths is not None),
        rows=job_rows(lengths),
        stuck=stuck_jobs(),
        workers=worker_rows(),
        model=model_state(recent),
        endpoints=endpoint_rows(),
        endpoint_problems=problems_of_endpoints(),
        parked=Number(count=parked, url=listing(ParkedEntry, state__exact=ParkedEntry.State.PARKED)),
        paused_people=Pause.objects.filter(kind=Pause.Kind.USER).count(),
        spent_today=float(spent or 0),
        charts=charts(recent),
        flower_url=settings.ENV.flower_url,
    )


def kinds_of_job() -> list[type[Job]]:
    return [model for model in jobs.job_models() if model.__module__.split(".")[0] != "tests"]


def job_rows(lengths: dict[str, int] | None) -> list[JobKindRow]:
    pauses = {pause.name: pause for pause in Pause.objects.filter(kind=Pause.Kind.QUEUE)}
    return [row_of(model, pauses, lengths) for model in kinds_of_job()]


def row_of(model: type[Job], pauses: dict[str, Pause], lengths: dict[str, int] | None) -> JobKindRow:
    rows: QuerySet[Any] = model.live()
    counts = dict(rows.order_by().values_list("status").annotate(count=Count("pk")))
    oldest = rows.filter(status=model.QUEUED).aggregate(at=Min("queued_at"))["at"]
    ended = model._default_manager.filter(ended_at__gt=timezone.now() - HOUR)
    failed = ended.filter(status=model.FAILED).count()

    def number(status: str) -> Number:
        return Number(count=counts.get(status, 0), url=listing(model, status=status))

    return JobKindRow(
        name=str(model._meta.verbose_name_plural),
        singular=str(model._meta.verbose_name),
        queue=model.queue,
        running=number(model.RUNNING),
        queued=number(model.QUEUED),
        waiting=number(model.WAITING),
        stuck=Number(count=rows.filter(jobs.left_behind(model)).count(), url=listing(model, stuck="yes")),
        failed=Number(count=failed, url=listing(model, status=model.FAILED, ended="hour")),
        oldest_seconds=max((timezone.now() - oldest).total_seconds(), 0.0) if oldest else 0.0,
        late=late_jobs(model).count(),
        messages=None if lengths is None else lengths.get(model.queue, 0),
        pause=pauses.get(model.queue),
    )


def late_jobs(model: type[Job]) -> QuerySet[Any]:
    """Return jobs queued for a while that neither a pause nor a limit of their user or session holds back."""
    since = Job.clock.after(-LATE_SECONDS)
    queued = model.live().filter(status=model.QUEUED, queued_at__lt=since)
    pauses = Pauses.read()
    if pauses.users and has_user(model):
        queued = queued.exclude(pauses.held_users())
    return lifecycle_of(model).startable(queued)


def listing(model: type[Any], **filters: str) -> str:
    """Return the URL of the filtered list in the admin, or "" if there is none."""
    try:
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    except NoReverseMatch:
        return ""
    return f"{address}?{urlencode(filters)}" if filters else address


def stuck_jobs() -> list[StuckJob]:
    """Return the jobs of all kinds that have been stuck longest."""
    found = [
        stuck_job(job)
        for model in kinds_of_job()
        for job in model.live()
        .filter(jobs.left_behind(model))
        .order_by(F("lease_until").asc(nulls_last=True))[:SHOWN_STUCK]
    ]
    return sorted(found, key=lambda job: -(job.over_seconds or 0))[:SHOWN_STUCK]


def stuck_job(job: Job) -> StuckJob:
    now = timezone.now()
    return StuckJob(
        name=f"{job._meta.verbose_name} …{str(job.pk)[-8:]}",
        owner=job.owner,
        over_seconds=(now - job.lease_until).total_seconds() if job.lease_until else None,
        age_seconds=(now - job.queued_at).total_seconds(),
        attempt=job.attempt,
        url=page_of(job),
    )


def page_of(job: Job) -> str:
    """Return the URL where an operator sees what happened to the job and can act on it."""
    if isinstance(job, Turn):
        return reverse("admin:timeline", args=[job.pk])
    return reverse(f"admin:{job._meta.app_label}_{job._meta.model_name}_change", args=[job.pk])


def worker_rows() -> list[WorkerRow]:
    return [
        WorkerRow(
            pk=beat.pk,
            name=beat.name,
            queues=beat.kind.split(","),
            jobs=beat.jobs,
            seen_at=beat.seen_at,
            quiet_seconds=max((timezone.now() - beat.seen_at).total_seconds(), 0.0),
            state=worker_state.state_of(beat),
        )
        for beat in WorkerBeat.objects.order_by("kind", "name")
    ]


def model_state(recent: dict[datetime, counters.Counts] | None) -> ModelState:
    recently_failed = Turn.objects.filter(end_reason__in=MODEL_TROUBLE, ended_at__gt=timezone.now() - HOUR)
    failed = unanswered(recently_failed).count()
    errors: dict[str, int] | None = None
    if recent is not None:
        errors = {}
        for at, counts in recent.items():
            for (tally, kind), number in counts.items():
                if tally == CounterBuffer.MODEL_ERRORS and at > timezone.now() - HOUR:
                    errors[kind] = errors.get(kind, 0) + number
    url = listing(Turn, end_reason__in=",".join(MODEL_TROUBLE), ended="hour", unanswered="yes")
    return ModelState(
        name=name_of_models(),
        failed_turns=Number(count=failed, url=url),
        errors=errors,
    )


def name_of_models() -> str:
    """Return what failed requests went to; they are counted together, whichever endpoint was asked."""
    if len(known_endpoints()) > 1:
        return "models"
    return f"the model {settings.COPILOT_MODEL!r}" if settings.COPILOT_MODEL else "the default model"


def endpoint_rows() -> list[EndpointRow]:
    """Return every endpoint that is used, with its health from the requests of all workers."""
    refresh_if_old()
    try:
        known = endpoints()
    except BadModelRequest:
        return []
    found = read_health(known)
    rows = {row.name: row.pk for row in ModelEndpoint.objects.only("name")}
    shown = []
    for endpoint in known:
        health = ServiceHealth() if found is None else found[endpoint.label]
        of_admin = endpoint in known_rows().endpoints
        shown.append(
            EndpointRow(
                name=endpoint.name or endpoint.host,
                address=endpoint.shown_url,
                dialect=endpoint.dialect,
                models=", ".join(endpoint.models),
                source="admin" if of_admin else "settings",
                state="unknown" if found is None else state_of_endpoint(health),
                health=health,
                url=reverse("admin:llm_modelendpoint_change", args=[rows[endpoint.name]])
                if of_admin and endpoint.name in rows
                else "",
            )
        )
    return shown


def state_of_endpoint(health: ServiceHealth) -> str:
    if health.failing_since is not None:
        return "failing"
    return "ok" if health.answered_at is not None else "not asked"


def problems_of_endpoints() -> list[str]:
    try:
        return row_problems()
    except BadModelRequest as error:
        return [error.user_message]


def charts(recent: dict[datetime, counters.Counts] | None) -> list[Chart]:
    turns, ledger = Turn.objects.all(), LedgerEntry.objects.all()
    errors = None if recent is None else {at: model_errors(counts) for at, counts in recent.items()}
    return [
        by_hour("Turns", turns, "queued_at", Count("pk")),
        by_hour("Failed turns", turns.filter(status=Turn.FAILED), "ended_at", Count("pk")),
        of_counts("Failed requests to the model", errors),
        by_hour("Output tokens", ledger, "created_at", Sum("output_tokens")),
        by_hour("Spent", ledger, "created_at", Sum("amount"), money=True),
    ]


def model_errors(counts: counters.Counts) -> int:
    return sum(number for (tally, _), number in counts.items() if tally == CounterBuffer.MODEL_ERRORS)
