"""Operations on jobs: claim, heartbeat, sweep, cancel, end."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.apps import apps
from django.conf import settings
from django.db import IntegrityError
from django.db.models import Case, F, PositiveIntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce, Greatest

from durable import database, event_log, limits, plain_sql
from durable.clock import DatabaseClock, database_time
from durable.database import after_commit, bounded, in_transaction
from durable.event_log import START, Position
from durable.lease import INTERNAL_ERROR, Lease, unclosed
from durable.lifecycle import NotAdmitted, lifecycle_of
from durable.models import Cause, Job
from durable.stop_signal import StopReason

logger = logging.getLogger(__name__)

BY_OPERATOR = "operator"
NOT_CLAIMED = (
    "It could not be started, however often it was tried. The log has the details; please try again."
)


def job_models() -> list[type[Job]]:
    """Return all job models."""
    return [model for model in apps.get_models() if issubclass(model, Job)]


# --- claim --------------------------------------------------------------------------------------


def claim(model: type[Job], job_id: uuid.UUID, *, owner: str) -> Lease | None:
    """Claim a job that is queued, due or abandoned; return None if it cannot be claimed. Duplicate pokes stop here."""
    newest = event_log.newest_attempt(job_id)
    try:
        lease = _take_queued(model, job_id, owner, newest) if lifecycle_of(model).reads_queued else None
        if lease is None:
            left = left_by(model, job_id)  # before the transaction, which on SQLite blocks all other writers
            lease = _take(model, job_id, owner, left, above=newest) if left is not None else None
    except (NotAdmitted, ClaimConflict):
        return None
    if lease is not None:
        lease.emitter.release()
    return lease


class ClaimConflict(Exception):
    """Another claim won a constraint of this job model, such as one active turn per session."""


@in_transaction
def _take_queued(model: type[Job], job_id: uuid.UUID, owner: str, above: int) -> Lease | None:
    """Claim a job that was never tried, the usual case, with the row that its admission has read."""
    job: Any = lifecycle_of(model).read_queued(job_id)
    if job is None or job.attempt:
        return None
    claimed = {
        "attempt": max(job.attempt, above) + 1,
        "owner": owner,
        "status": model.RUNNING,
        "started_at": job.started_at or job.claimed_at,
        "lease_until": job.claimed_at + timedelta(seconds=float(settings.COPILOT_LEASE_SECONDS)),
        "poked_at": None,
        "run_at": None,
    }
    try:
        is_free = {"id": job_id, "status": model.QUEUED, "attempt": job.attempt}
        if not plain_sql.update(model, is_free, claimed):
            return None  # cancelled or claimed while this transaction waited for a lock
    except IntegrityError as error:
        raise ClaimConflict from error  # leaves the transaction, which PostgreSQL has aborted
    for name, value in claimed.items():
        setattr(job, name, value)
    return _lease(job, Cause.QUEUED, silent_since=None)


class LeftBy(NamedTuple):
    """The row's state just before the claim: how the previous attempt left it."""

    status: str
    owner: str
    lease_until: datetime | None

    def cause(self, model: type[Job]) -> Cause:
        if self.status == model.QUEUED:
            return Cause.QUEUED
        if self.status == model.WAITING:
            return Cause.DUE
        return Cause.WORKER_LOST if self.owner else Cause.HANDED_OVER


def left_by(model: type[Job], job_id: uuid.UUID) -> LeftBy | None:
    """Return how the previous attempt left a claimable job. Most are queued, for which one cheap read is enough."""
    rows = model._default_manager.filter(pk=job_id).values_list("status", "owner", "lease_until")
    left = next((LeftBy(*row) for row in rows), None)
    if left is None or left.status == model.QUEUED:
        return left
    return left if claimable(model).filter(pk=job_id).exists() else None


@in_transaction
def _take(model: type[Job], job_id: uuid.UUID, owner: str, left: LeftBy, *, above: int = 0) -> Lease | None:
    """Claim inside a transaction. `above` is the newest attempt in the log, which exceeds the row's after a restore."""
    if not lifecycle_of(model).admit(job_id) or not _mark(model, job_id, owner, left, above):
        return None
    rows = model._default_manager.select_related(*model.reads_with)
    job = rows.annotate(claimed_at=model.clock.now()).get(pk=job_id)
    return _lease(job, left.cause(model), silent_since=left.lease_until)


def _lease(job: Any, cause: Cause, *, silent_since: datetime | None) -> Lease:
    """Return the lease of a job this transaction has claimed, and write what belongs to the new attempt."""
    if isinstance(job.clock, DatabaseClock):
        database_time().heard(job.claimed_at)
    after = START
    if job.attempt > 1:
        after = event_log.last_stored(job.pk)
        _void_open(job, after)
    lease = Lease(job, seconds=float(settings.COPILOT_LEASE_SECONDS), after=after)
    lease.cause, lease.silent_since = cause, silent_since
    if job.cancel_requested_at is not None:
        lease.stop.set(StopReason.CANCELLED)
    lease.lifecycle.claimed(job, lease)
    return lease


def _void_open(job: Any, after: Position) -> None:
    """Drop what the attempts before showed after the last commit; keep it as abandoned where readers need it."""
    if not lifecycle_of(type(job)).keeps_abandoned:
        event_log.drop_open(job.pk)
        return
    event_log.fence(job.pk, job.attempt)  # first: events its worker still writes are refused
    shown = event_log.left_open(job.pk, after)
    event_log.drop_open(job.pk)
    event_log.store_abandoned(job.pk, shown)


def _mark(model: type[Job], job_id: uuid.UUID, owner: str, left: LeftBy, above: int) -> bool:
    """Perform the claim: one conditional UPDATE, which only one caller wins."""
    if left.status == model.QUEUED:
        free, counted = model._default_manager.filter(status=model.QUEUED), {}
    else:
        free = claimable(model).filter(beside_no_suspect(model, owner))
        counted = {"crashes": crashes_by_now(model)}
    try:
        taken = free.filter(pk=job_id).update(
            **counted,
            attempt=Greatest(F("attempt"), Value(above)) + 1,
            owner=owner,
            status=Value(model.RUNNING),
            lease_until=model.clock.after(float(settings.COPILOT_LEASE_SECONDS)),
            started_at=Coalesce(F("started_at"), model.clock.now()),
            poked_at=None,
            run_at=None,
        )  # fmt: skip
    except IntegrityError as error:
        raise ClaimConflict from error  # leaves the transaction, which PostgreSQL has aborted
    return bool(taken)


def crashes_by_now(model: type[Job]) -> Case:
    one_more = When(crashed(model), then=F("crashes") + 1)
    return Case(one_more, default=F("crashes"), output_field=PositiveIntegerField())


def claimable(model: type[Job]) -> QuerySet[Job]:
    return model._default_manager.filter(
        Q(status=model.QUEUED) | due(model) | (left_behind(model) & out_of_quarantine(model))
    )


def due(model: type[Job]) -> Q:
    """Return the condition for waiting jobs whose time has come, or that were asked to stop."""
    return Q(status=model.WAITING) & (Q(run_at__lte=model.clock.now()) | Q(cancel_requested_at__isnull=False))


def left_behind(model: type[Job]) -> Q:
    """Return the condition for running jobs that no worker holds, because it died or released them."""
    nobody = Q(lease_until__lt=model.clock.now()) | Q(lease_until=None)
    asked_to_stop = Q(owner="", cancel_requested_at__isnull=False)
    return Q(status=model.RUNNING) & (nobody | asked_to_stop)


def crashed(model: type[Job]) -> Q:
    return Q(status=model.RUNNING) & ~Q(owner="")


def exhausted(model: type[Job]) -> Q:
    """Return the condition for jobs whose attempts died so often that another one would only kill another worker."""
    return crashed(model) & Q(crashes__gte=limits.MAX_ATTEMPTS - 1)


# --- jobs that kill workers --------------------------------------------------------------------------
#
# A dead worker does not say which of its jobs killed it, or whether any did. So a job is given up only after
# MAX_ATTEMPTS deaths without progress in between. A job that died twice is a suspect: it rests before the next attempt
# and runs beside no other suspect. If a worker dies meanwhile without holding a suspect, the deaths have another cause,
# and all suspects are cleared.


def suspect(model: type[Job]) -> Q:
    """Return the condition for suspects: jobs that died twice without progress in between."""
    return Q(status=model.RUNNING, crashes__gte=limits.SUSPECT_CRASHES)


def out_of_quarantine(model: type[Job]) -> Q:
    """Return the condition for abandoned jobs to retry: at once the first time, later after each death."""
    lease = float(settings.COPILOT_LEASE_SECONDS)
    rested = Q(crashes=0)
    for crashes in range(1, limits.MAX_ATTEMPTS - 1):
        over = model.clock.after(-lease * 2 ** (crashes - 1))
        rested |= Q(crashes=crashes, lease_until__lt=over)
    let_go = Q(owner="") | Q(lease_until=None, crashes__lt=limits.MAX_ATTEMPTS - 1)
    asked_to_stop = Q(cancel_requested_at__isnull=False, crashes__lt=limits.MAX_ATTEMPTS - 1)
    return let_go | rested | asked_to_stop


def beside_no_suspect(model: type[Job], owner: str) -> Q:
    """Return the condition for what a worker may take over: at most one suspect at a time."""
    at_work = Q(owner=owner, lease_until__gt=model.clock.now())
    if not model._default_manager.filter(suspect(model), at_work).exists():
        return Q()
    return Q(owner="") | Q(crashes__lt=limits.SUSPECT_CRASHES - 1)


def clear_suspects(*, dead: str) -> int:
    """Clear resting suspects after a worker died without holding one; return how many.

    A job dies unsuspected at most twice, so jobs that do kill workers cannot clear each other for ever.
    """
    models = job_models()
    if any(model._default_manager.filter(suspect(model), owner=dead).exists() for model in models):
        return 0
    return sum(
        model._default_manager.filter(suspect(model), lease_until__lt=model.clock.now())
        .exclude(owner=dead)
        .update(crashes=1)
        for model in models
    )


def clear_all(*, dead: str) -> int:
    """Clear what a worker held that died together with others, which no single job causes; return how many."""
    return sum(
        model._default_manager.filter(owner=dead, status=model.RUNNING, crashes__gt=0).update(crashes=0)
        for model in job_models()
    )


# --- heartbeat ----------------------------------------------------------------------------------


def renew(model: type[Job], job_ids: Sequence[uuid.UUID], *, owner: str) -> dict[uuid.UUID, tuple[int, bool]]:
    """Renew a worker's leases in one UPDATE; return attempt and cancel request of each renewed job.

    Rows locked by another transaction are skipped, so that they delay no other lease: nobody can claim them meanwhile,
    and the next heartbeat tries again. `held` tells whether they still belong to the worker.
    """
    seconds = float(settings.COPILOT_LEASE_SECONDS)
    with bounded(seconds / 3):
        mine = model._default_manager.filter(owner=owner, status=model.RUNNING)
        locked = mine.filter(pk__in=job_ids).select_for_update(skip_locked=True, of=("self",), no_key=True)
        renewed = _attempts(locked)
        mine.filter(pk__in=renewed).update(lease_until=model.clock.after(seconds))
    return renewed


def held(model: type[Job], job_ids: Sequence[uuid.UUID], *, owner: str) -> dict[uuid.UUID, tuple[int, bool]]:
    """Return attempt and cancel request of those jobs the worker still holds."""
    return _attempts(model._default_manager.filter(pk__in=job_ids, owner=owner, status=model.RUNNING))


def _attempts(rows: QuerySet[Job]) -> dict[uuid.UUID, tuple[int, bool]]:
    return {
        pk: (attempt, asked_at is not None)
        for pk, attempt, asked_at in rows.values_list("pk", "attempt", "cancel_requested_at")
    }


# --- sweep --------------------------------------------------------------------------------------


def sweep(model: type[Job], *, held: Q | None = None, at_most: int = limits.SWEEP_BATCH) -> list[uuid.UUID]:
    """Return the jobs that need a poke and record that they get one now; end those that are exhausted.

    Those poked longest ago come first, so that jobs that cannot start do not block others. Jobs matching `held` are
    skipped.
    """
    database.try_one(lambda: give_up(model), what=f"Giving up {model.__name__}s")
    if at_most <= 0:
        return []
    waiting = to_poke(model) if held is None else to_poke(model).exclude(held)
    if not waiting.exists():
        return []  # the usual case needs no transaction
    return _note_pokes(model, waiting, at_most)


@in_transaction
def _note_pokes(model: type[Job], waiting: QuerySet[Job], at_most: int) -> list[uuid.UUID]:
    needy = waiting.order_by(F("poked_at").asc(nulls_first=True), "queued_at")
    locked = needy.select_for_update(skip_locked=True)  # rows locked by another sweep are poked by that one
    ids = list(locked.values_list("pk", flat=True)[:at_most])
    model._default_manager.filter(pk__in=ids).update(poked_at=model.clock.now())
    return ids


def to_poke(model: type[Job]) -> QuerySet[Job]:
    stale = Q(poked_at=None) | Q(poked_at__lt=model.clock.after(-limits.REPOKE_SECONDS))
    queued = lifecycle_of(model).startable(model.live().filter(status=model.QUEUED))
    wanted = Q(pk__in=queued.values("pk")) | due(model) | (left_behind(model) & out_of_quarantine(model))
    return model.live().filter(wanted & stale)


def give_up(model: type[Job]) -> None:
    """End jobs whose attempts all died. The status condition lets one caller win."""
    past_saving = left_behind(model) & exhausted(model)
    rows = model.live().filter(past_saving).values_list("pk", "cancel_requested_at")
    found = dict(rows[: limits.SWEEP_BATCH])

    def give_up_one(job_id: uuid.UUID) -> None:
        if found[job_id] is not None:
            end_unowned(model, job_id, past_saving, status=model.CANCELLED, reason="cancelled")
        else:
            end_unowned(model, job_id, past_saving, status=model.FAILED, reason="worker_lost")

    database.run_each(found, give_up_one, what=f"Giving up a {model.__name__}")


def end_unclaimable(model: type[Job], job_id: uuid.UUID) -> bool:
    """End a job that cannot be claimed; return False if a worker holds it or it has ended."""
    unheld = Q(status=model.QUEUED) | due(model) | left_behind(model)
    if end_unowned(model, job_id, unheld & asked_to_stop(), status=model.CANCELLED, reason="cancelled"):
        return True
    return end_unowned(model, job_id, unheld, status=model.FAILED, reason=INTERNAL_ERROR, error=NOT_CLAIMED)


def asked_to_stop() -> Q:
    return Q(cancel_requested_at__isnull=False)


# --- cancel -------------------------------------------------------------------------------------


def request_cancel(model: type[Job], job_id: uuid.UUID) -> bool:
    """Request a stop: end a job that is not running, mark a running one. Return False if it had ended."""
    live = model._default_manager.filter(pk=job_id).exclude(status__in=model.TERMINAL)
    parked = ~Q(status__in=[*model.TERMINAL, model.RUNNING])
    while live.exists():  # it may start or stop running meanwhile; then try again
        if end_unowned(model, job_id, parked, status=model.CANCELLED, reason="cancelled"):
            return True
        if live.filter(status=model.RUNNING).update(
            cancel_requested_at=Coalesce(F("cancel_requested_at"), model.clock.now())
        ):
            return True
    return False


def end_if_cancelled(model: type[Job], job_id: uuid.UUID) -> bool:
    """End a suspended job that was asked to stop: no worker holds it that could do so."""
    unheld = Q(status=model.WAITING) | Q(status=model.RUNNING, owner="")
    asked = Q(cancel_requested_at__isnull=False)
    if not model._default_manager.filter(unheld, asked, pk=job_id).exists():
        return False
    return end_unowned(model, job_id, unheld & asked, status=model.CANCELLED, reason="cancelled")


def force_cancel(model: type[Job], job_id: uuid.UUID) -> bool:
    """End a job whose worker does not answer; the raised attempt number fences that worker."""
    return end_unowned(model, job_id, Q(status=model.RUNNING), status=model.CANCELLED, reason="cancelled")


def release(model: type[Job], job_id: uuid.UUID) -> bool:
    """Take a running job from its worker for another to continue; the next claim fences the old one."""
    running = model._default_manager.filter(pk=job_id, status=model.RUNNING)
    return bool(running.update(lease_until=None, owner=""))


def free(model: type[Job], *, owner: str) -> int:
    """End the leases of a worker that is known to be dead; return how many."""
    held = model._default_manager.filter(owner=owner, status=model.RUNNING, lease_until__gt=model.clock.now())
    return held.update(lease_until=model.clock.after(-0.01))


def mark_failed(model: type[Job], job_id: uuid.UUID) -> bool:
    """End a job by an operator's decision; return False if it had ended. Its worker is fenced."""
    live = ~Q(status__in=model.TERMINAL)
    return end_unowned(model, job_id, live, status=model.FAILED, reason=BY_OPERATOR)


def end_unowned(
    model: type[Job], job_id: uuid.UUID, condition: Q, *, status: str, reason: str, error: str = ""
) -> bool:
    """End a job that no attempt can end itself, if `condition` holds in the same UPDATE.

    Notifications wait for the outermost commit. A job whose lifecycle hooks raise is ended by the UPDATE alone, and
    its `error` says so: it must not come back for ever.
    """
    columns = {"status": status, "end_reason": reason}
    said = {"error": error} if error else {}
    try:
        return _end_and_close(model, job_id, condition, **columns, **said)
    except Exception as fault:  # raised by lifecycle hooks, which read outside content
        if not database.is_fault(fault):
            raise
        logger.exception(
            "A job could not be closed; it is ended without its closing", extra={"job_id": str(job_id)}
        )
    return _end_row(model, job_id, condition, **columns, error=unclosed(error))


@in_transaction
def _end_and_close(model: type[Job], job_id: uuid.UUID, condition: Q, **columns: str) -> bool:
    lifecycle = lifecycle_of(model)
    lifecycle.lock_before(job_id)
    if not _end_row(model, job_id, condition, **columns):
        return False
    job = model._default_manager.get(pk=job_id)
    lifecycle.ended_unowned(job)
    lifecycle.ended(job)
    return True


@in_transaction
def _end_row(model: type[Job], job_id: uuid.UUID, condition: Q, **columns: str) -> bool:
    """End the row alone; the raised attempt number fences its worker."""
    ended = model._default_manager.filter(condition, pk=job_id).update(
        **columns,
        attempt=F("attempt") + 1,
        ended_at=model.clock.now(),
        owner="",
        lease_until=None,
    )
    if ended:
        after_commit(_after_end, model, job_id)  # notifications; the end itself is committed
    return bool(ended)


def _after_end(model: type[Job], job_id: uuid.UUID) -> None:
    event_log.expire_soon(job_id)
    event_log.nudge(job_id)
    lifecycle_of(model).after_end(model._default_manager.get(pk=job_id))
