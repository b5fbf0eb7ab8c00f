"""The parts of a sweep: how often it runs, what it finds, dead workers, and who may ask for one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from django.conf import settings
from django.db import connection
from django.db.models import BooleanField, Exists, ExpressionWrapper, Q, QuerySet

from durable import jobs, limits, liveness
from durable.clock import DatabaseClock
from durable.database import in_transaction
from durable.hub import watch_in_background
from durable.jobs import job_models
from durable.liveness import ProcessIdentity
from durable.models import Job, Pause, WorkerBeat
from durable.redis import RedisError, client, key

logger = logging.getLogger(__name__)

CHANNEL = key("sweep")
Statement = tuple[str, tuple[Any, ...]]
WORKER_COLUMNS = 5  # those of WorkerSeen


class SweepPace:
    """Counts the rounds between two sweeps: one while jobs move, then 2, 4 … `limits.REST_ROUNDS` at rest."""

    def __init__(self) -> None:
        self._rounds = 1  # between two sweeps
        self._left = 0  # until the next one
        self._asked = False

    def hurry(self) -> None:
        """Sweep in the next round; any thread may call this."""
        self._asked = True

    def wants_sweep(self) -> bool:
        """Return whether this round sweeps; call it once per round."""
        if self._asked:
            self._asked, self._rounds, self._left = False, 1, 0
        self._left -= 1
        return self._left < 0

    def swept(self, *, at_rest: bool) -> None:
        """Decide how many rounds pass without a sweep."""
        self._rounds = min(2 * self._rounds, limits.REST_ROUNDS) if at_rest else 1
        self._left = self._rounds - 1


@dataclass(frozen=True, kw_only=True)
class WorkerSeen:
    """One worker as the others see it."""

    name: str
    process: str  # its ProcessIdentity; "" = its death is recorded
    is_asked_to_drain: bool
    is_overdue: bool  # its heartbeat
    is_silent: bool  # for the length of a lease

    @property
    def identity(self) -> ProcessIdentity | None:
        return ProcessIdentity.parse(self.process)


@dataclass(frozen=True, kw_only=True)
class SweepState:
    """All workers, and where there is anything to sweep. Before the first heartbeat nothing is known."""

    workers: Sequence[WorkerSeen] = ()
    idle_models: frozenset[type[Job]] = frozenset()  # all their jobs have ended
    has_pauses: bool = True
    at_rest: bool = False  # no job is queued, running or due before the next sweep at rest

    @classmethod
    def read(cls) -> Self:
        """Read it; the workers' rows carry what is known of the jobs, so that one statement is enough."""
        models = job_models()
        sql, params = _statement(models)
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            rows = cursor.fetchall()
        if not rows:
            return cls()
        has_pauses, *flags = rows[0][WORKER_COLUMNS:]
        live, moves = flags[: len(models)], flags[len(models) :]
        return cls(
            workers=[_seen(*row[:WORKER_COLUMNS]) for row in rows],
            idle_models=frozenset(model for model, is_live in zip(models, live, strict=True) if not is_live),
            has_pauses=bool(has_pauses),
            at_rest=not any(moves),
        )

    def others(self, owner: str) -> list[WorkerSeen]:
        """Return the other workers whose death is not recorded yet."""
        return [worker for worker in self.workers if worker.process and worker.name != owner]


def _seen(name: str, process: str, is_asked: Any, is_overdue: Any, is_silent: Any) -> WorkerSeen:
    return WorkerSeen(
        name=name,
        process=process,
        is_asked_to_drain=bool(is_asked),
        is_overdue=bool(is_overdue),
        is_silent=bool(is_silent),
    )


def _statement(models: Sequence[type[Job]]) -> Statement:
    """Return the statement. Building it takes ten times longer than running it, so it is built once."""
    lease, beat, sweep = (
        float(seconds)
        for seconds in (
            settings.COPILOT_LEASE_SECONDS,
            settings.COPILOT_HEARTBEAT_SECONDS,
            settings.COPILOT_SWEEP_SECONDS,
        )
    )
    if not all(isinstance(model.clock, DatabaseClock) for model in models):
        return _build(tuple(models), lease, beat, sweep)  # another clock's time is part of the statement
    return _prepared(connection.vendor, tuple(models), lease, beat, sweep)


@lru_cache
def _prepared(
    vendor: str, models: tuple[type[Job], ...], lease: float, beat: float, sweep: float
) -> Statement:
    return _build(models, lease, beat, sweep)


def _build(models: tuple[type[Job], ...], lease: float, beat: float, sweep: float) -> Statement:
    overdue = Q(seen_at__lt=Job.clock.after(-limits.OVERDUE_BEATS * beat))
    rows = WorkerBeat.objects.values_list(
        "name",
        "process",
        _is(Q(drain_requested_at__isnull=False)),
        _is(overdue),
        _is(Q(seen_at__lt=Job.clock.after(-lease))),
        Exists(Pause.objects.all()),
        *(Exists(model.live()) for model in models),
        *(Exists(_moving(model, limits.REST_ROUNDS * sweep)) for model in models),
    )
    sql, params = rows.query.sql_with_params()
    return sql, tuple(params)


def _moving(model: type[Job], seconds: float) -> QuerySet[Job]:
    """Return the jobs because of which a worker sweeps at its full pace."""
    later = Q(run_at=None) | Q(run_at__gt=model.clock.after(seconds))
    return model.live().exclude(Q(status=model.WAITING, cancel_requested_at=None) & later)


def _is(condition: Q) -> ExpressionWrapper[Any]:
    return ExpressionWrapper(condition, output_field=BooleanField())


# --- dead workers -----------------------------------------------------------------------------------


class DeadWorkers:
    """Finds the other workers that died, and lets their jobs continue elsewhere."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._freed: set[str] = set()  # names of workers whose jobs were freed here

    def find(self, seen: SweepState) -> list[WorkerSeen]:
        """Return the workers on this machine whose process has died, without asking the database."""
        return [
            worker
            for worker in seen.others(self._owner)
            if worker.name not in self._freed
            and (identity := worker.identity) is not None
            and liveness.is_dead(identity)
        ]

    def free_jobs(self, seen: SweepState) -> None:
        """Free the jobs of dead processes on this machine at once instead of when their leases expire."""
        dead = self.find(seen)
        for worker in dead:
            freed = _free_jobs_of(worker, together=len(dead) > 1)
            self._freed.add(worker.name)
            if freed:  # other workers find nothing left to free
                logger.warning("The worker %s is dead; %d of its jobs continue elsewhere", worker.name, freed)

    def record_silent(self, seen: SweepState) -> None:
        """Record that a worker on another machine died, known by its silence; its leases expire on their own.

        Workers that died together with it may have been seen one heartbeat later.
        """
        others = seen.others(self._owner)
        together = sum(worker.is_overdue for worker in others) > 1
        for worker in others:
            if worker.is_silent and _record_death(worker, together=together):
                logger.warning("The worker %s has been silent for the length of a lease", worker.name)


@in_transaction
def _free_jobs_of(worker: WorkerSeen, *, together: bool) -> int:
    """Free what a dead worker held; return how many. Other workers find it recorded and change nothing."""
    if not _record_death(worker, together=together):
        return 0
    return sum(jobs.free(model, owner=worker.name) for model in job_models())


@in_transaction
def _record_death(worker: WorkerSeen, *, together: bool) -> bool:
    """Clear the suspects that this death shows to be innocent, once per worker.

    A worker that was only frozen is registered again by its next heartbeat.
    """
    if not WorkerBeat.objects.filter(name=worker.name, process=worker.process).update(process=""):
        return False
    if together:
        jobs.clear_all(dead=worker.name)
    jobs.clear_suspects(dead=worker.name)
    return True


# --- requests for a sweep ---------------------------------------------------------------------------


def broadcast() -> None:
    """Ask all workers to sweep in their next round. Failures are only logged: at rest they sweep rarely, not never."""
    try:
        client().publish(CHANNEL, "")
    except RedisError as error:
        logger.warning("Workers were not asked to sweep: %s", error)


def listen(heard: Callable[[], None]) -> Future[None]:
    """Call `heard` at each request, and when one may have been missed, until the returned future is cancelled."""
    return watch_in_background(CHANNEL, lambda payload: heard())
