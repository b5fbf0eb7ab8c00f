"""The abstract job row with its status column, event pages, worker heartbeats, pauses and parked stream entries."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.db import models
from django.db.models import Q, lookups

from durable import tracing
from durable.clock import Clock, CreatedAtField, DatabaseClock
from durable.ids import new_id

STATUSES = ("queued", "running", "waiting", "completed", "failed", "cancelled")
TERMINAL = frozenset({"completed", "failed", "cancelled"})
PLAIN = re.compile(r"[A-Za-z_]+")

if TYPE_CHECKING:
    StatusColumn = models.CharField[str, str]
else:
    StatusColumn = models.CharField


def live_of(statuses: Iterable[str], terminal: Collection[str]) -> tuple[str, ...]:
    """Return the statuses of work that has not ended, in their own order: partial indexes compare it."""
    return tuple(str(status) for status in statuses if status not in terminal)


def job_indexes(live: Sequence[str]) -> list[models.Index]:
    """Return the indexes every job table has: live jobs for sweeps and counts, owned ones, ended ones by time."""
    return [
        models.Index(
            fields=["status", "queued_at"],
            condition=Q(status__in=live),
            name="%(app_label)s_%(class)s_live",
        ),
        models.Index(fields=["owner"], condition=~Q(owner=""), name="%(app_label)s_%(class)s_own"),
        models.Index(
            fields=["ended_at"], condition=Q(ended_at__isnull=False), name="%(app_label)s_%(class)s_end"
        ),
    ]


class StatusField(StatusColumn):
    """A CharField whose values appear in SQL conditions as literals.

    A database uses a partial index only if it can prove that the condition of the query implies that of the index.
    SQLite cannot prove it from bound parameters of an IN, PostgreSQL not in a generic plan of a prepared statement.
    """

    def deconstruct(self) -> Any:
        """Appear as a CharField in migrations."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs


class Literal(lookups.Lookup):
    """Write plain identifiers into the SQL instead of binding them; anything else is bound as usual."""

    def process_rhs(self, compiler: Any, connection: Any) -> Any:
        sql, params = super().process_rhs(compiler, connection)
        words = [param for param in params if isinstance(param, str) and PLAIN.fullmatch(param)]
        if not self.rhs_is_direct_value() or len(words) != len(params):
            return sql, params
        return sql % tuple(f"'{word}'" for word in words), []


@StatusField.register_lookup
class StatusExact(Literal, lookups.Exact):
    """`status = 'queued'`."""


@StatusField.register_lookup
class StatusIn(Literal, lookups.In):
    """`status IN ('queued', 'running', 'waiting')`."""


class Cause(models.TextChoices):
    """Why an attempt claimed its job."""

    QUEUED = "queued"  # its first start
    DUE = "due"  # it was waiting and became due
    HANDED_OVER = "handed_over"  # its worker released it: stopped, drained or suspended the job
    WORKER_LOST = "worker_lost"  # its worker died or went silent: the lease expired


class Job(models.Model):
    """A durable piece of work with a lease; the row is the queue of record, a Celery message only a poke."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    status = StatusField(max_length=16)
    attempt = models.PositiveIntegerField(
        default=0, help_text="Raised by every claim; the fence of every write."
    )
    crashes = models.PositiveIntegerField(default=0, help_text="Attempts that ended without a word; capped.")
    commits = models.PositiveIntegerField(
        default=0,
        help_text="Number of the last commit: tells one whose answer was lost from one that failed.",
    )
    owner = models.CharField(max_length=128, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    poked_at = models.DateTimeField(null=True, blank=True)
    run_at = models.DateTimeField(null=True, blank=True, help_text="When a waiting job is due.")
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    queued_at = CreatedAtField()
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=32, blank=True, default="")
    error = models.TextField(blank=True, default="")
    traceparent = models.CharField(
        max_length=55,
        blank=True,
        default=tracing.current,
        editable=False,
        help_text="The trace it was asked for in, which every attempt goes on with.",
    )

    QUEUED: ClassVar[str] = "queued"
    RUNNING: ClassVar[str] = "running"
    WAITING: ClassVar[str] = "waiting"
    COMPLETED: ClassVar[str] = "completed"
    CANCELLED: ClassVar[str] = "cancelled"
    FAILED: ClassVar[str] = "failed"
    TERMINAL: ClassVar[frozenset[str]] = TERMINAL
    LIVE: ClassVar[tuple[str, ...]] = live_of(STATUSES, TERMINAL)

    clock: ClassVar[Clock] = DatabaseClock()
    reads_with: ClassVar[tuple[str, ...]] = ()  # related rows every attempt needs, read together with it
    task_name: ClassVar[str] = ""
    queue: ClassVar[str] = ""

    class Meta:
        abstract = True
        indexes = job_indexes(live_of(STATUSES, TERMINAL))

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.pk}"

    @property
    def is_terminal(self) -> bool:
        return self.status in self.TERMINAL

    @classmethod
    def live(cls) -> models.QuerySet[Self]:
        """Return the jobs that have not ended. Queries on it cost time proportional to the live jobs only."""
        return cls._default_manager.filter(status__in=cls.LIVE)

    def log_context(self) -> dict[str, Any]:
        return {"job": type(self).__name__.lower(), "job_id": str(self.pk), "attempt": self.attempt}

    def on_behalf_of(self) -> str:
        """Return the owner this job works for, or ""."""
        user_id = getattr(self, "user_id", None)
        return f"user:{user_id}" if user_id else ""

    @property
    def joins_trace(self) -> bool:
        """Return whether its spans join the trace that requested it, instead of a linked trace of their own."""
        return True


class EventPage(models.Model):
    """Events of a job's log as they were sent, stored with their commit; the log in Redis is a cache."""

    job_id = models.UUIDField()
    attempt = models.PositiveIntegerField()
    first_seq = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    data = models.BinaryField()
    open = models.BooleanField(
        default=False, help_text="Not committed yet: part of a long step, and void when its attempt dies."
    )
    abandoned = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Void; kept for readers whose protocol cannot take back what they were sent.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["job_id", "attempt", "first_seq"], name="durable_one_page_per_place"
            )
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.attempt}-{self.first_seq}..{self.last_seq}"


class WorkerBeat(models.Model):
    """The last heartbeat of one worker process."""

    name = models.CharField(max_length=128, unique=True)
    kind = models.CharField(max_length=255, help_text="The queues it serves.")
    started_at = CreatedAtField()
    seen_at = models.DateTimeField()
    jobs = models.PositiveIntegerField(default=0)
    process = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="Identifies the process to other workers on the same machine.",
    )
    drain_requested_at = models.DateTimeField(
        null=True, blank=True, help_text="Asked to hand its jobs over and take no more."
    )

    class Meta:
        verbose_name = "worker"

    def __str__(self) -> str:
        return self.name


class Pause(models.Model):
    """A pause: no worker starts jobs of this queue or user until it is resumed."""

    class Kind(models.TextChoices):
        QUEUE = "queue"
        USER = "user"

    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.CharField(max_length=64, help_text="The queue's name, or the id of the user.")
    reason = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "name"], name="durable_one_pause_of_a_thing")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class ParkedEntry(models.Model):
    """A Redis stream entry that could not be handled; after several tries it is parked for an operator."""

    class State(models.TextChoices):
        RETRYING = "retrying"
        PARKED = "parked"
        REPLAYED = "replayed"  # put back at the end of its stream

    stream = models.CharField(max_length=128)
    group = models.CharField(max_length=128)
    entry_id = models.CharField(max_length=64)
    fields = models.JSONField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.RETRYING)
    tries = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, default="")
    first_seen_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "parked entries"
        constraints = [
            models.UniqueConstraint(
                fields=["stream", "group", "entry_id"], name="durable_one_row_per_parked_entry"
            )
        ]

    def __str__(self) -> str:
        return f"{self.stream} {self.entry_id}"
