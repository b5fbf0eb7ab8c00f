"""What can be done with a job: claim it, keep it alive, cancel it, sweep up what was left behind."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.apps import apps
from django.conf import settings
from django.db import IntegrityError
from django.db.models import Case, F, PositiveIntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce, Greatest

from durable import guard, limits, log
from durable.after_commit import after_commit
from durable.clock import DatabaseClock, database_time
from durable.events import START
from durable.lease import INTERNAL_ERROR, Lease, unclosed
from durable.models import Cause, Job
from durable.retrying import bounded, in_transaction
from durable.stop import StopReason

logger = logging.getLogger(__name__)

BY_OPERATOR = "operator"
NOT_CLAIMED = (
    "It could not be started, however often it was tried. The log has the details; please try again."
)


def job_models() -> list[type[Job]]:
    """Every kind of job in the project."""
    return [model for model in apps.get_models() if issubclass(model, Job)]


# --- claim --------------------------------------------------------------------------------------


def claim(model: type[Job], job_id: uuid.UUID, *, owner: str) -> Lease | None:
    """Take a job that is queued, due or left behind; None when it is not to be had. Doubled pokes end here."""
    left = left_by(model, job_id)
    if left is None:
        return None  # looked at before the transaction: on SQLite that would keep all other writers out
    try:
        lease = _take(model, job_id, owner, left, above=log.newest_attempt(job_id))
    except NotToBeHad:
        return None
    if lease is not None:
        lease.emitter.release()
    return lease


class NotToBeHad(Exception):
    """A rule of this kind of job, such as one active turn per session, was won by another claim."""


class LeftBy(NamedTuple):
    """What the row said of the attempt before, just before the claim."""

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
    """The attempt before of a job that can be claimed. Most are queued, for which one cheap look is enough."""
    rows = model._default_manager.filter(pk=job_id).values_list("status", "owner", "lease_until")
    left = next((LeftBy(*row) for row in rows), None)
    if left is None or left.status == model.QUEUED:
        return left
    return left if claimable(model).filter(pk=job_id).exists() else None


@in_transaction
def _take(model: type[Job], job_id: uuid.UUID, owner: str, left: LeftBy, *, above: int = 0) -> Lease | None:
    """`above` is the newest attempt the log knows: more than the row says, where the database was put back."""
    if not model.admit(job_id) or not _mark(model, job_id, owner, left, above):
        return None
    rows = model._default_manager.select_related(*model.reads_with)
    job = rows.annotate(claimed_at=model.clock.now()).get(pk=job_id)
    if isinstance(model.clock, DatabaseClock):
        database_time().heard(job.claimed_at)
    after = START
    if job.attempt > 1:
        log.drop_open(job_id)
        after = log.last_stored(job_id)
    lease = Lease(job, seconds=float(settings.COPILOT_LEASE_SECONDS), after=after)
    lease.cause, lease.silent_since = left.cause(model), left.lease_until
    if job.cancel_requested_at is not None:
        lease.stop.set(StopReason.CANCELLED)
    job.claimed(lease)
    return lease


def _mark(model: type[Job], job_id: uuid.UUID, owner: str, left: LeftBy, above: int) -> bool:
    """The claim itself: one conditional UPDATE, of which the database lets one win."""
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
        raise NotToBeHad from error  # through the transaction, which PostgreSQL has given up
    return bool(taken)


def crashes_by_now(model: type[Job]) -> Case:
    one_more = When(crashed(model), then=F("crashes") + 1)
    return Case(one_more, default=F("crashes"), output_field=PositiveIntegerField())


def claimable(model: type[Job]) -> QuerySet[Job]:
    return model._default_manager.filter(
        Q(status=model.QUEUED) | due(model) | (left_behind(model) & out_of_quarantine(model))
    )


def due(model: type[Job]) -> Q:
    """Waiting, and its time has come; who is asked to stop has waited long enough."""
    return Q(status=model.WAITING) & (Q(run_at__lte=model.clock.now()) | Q(cancel_requested_at__isnull=False))


def left_behind(model: type[Job]) -> Q:
    """Running, but nobody holds it: its worker died or gave it back. Who is asked to stop has waited long enough."""
    nobody = Q(lease_until__lt=model.clock.now()) | Q(lease_until=None)
    asked_to_stop = Q(owner="", cancel_requested_at__isnull=False)
    return Q(status=model.RUNNING) & (nobody | asked_to_stop)


def crashed(model: type[Job]) -> Q:
    return Q(status=model.RUNNING) & ~Q(owner="")


def exhausted(model: type[Job]) -> Q:
    """So many attempts died without a word that one more would only kill another worker."""
    return crashed(model) & Q(crashes__gte=limits.MAX_ATTEMPTS - 1)


# --- who kills workers --------------------------------------------------------------------------
#
# A worker that dies says nothing about which of its jobs killed it, or whether any did. So a job is given up only
# after MAX_ATTEMPTS deaths without a step forward between them, each of which it was there for: once it has died twice
# it is a suspect, rests for a while before it is tried again, and runs beside no other suspect. When a worker dies
# without a suspect in the meantime, deaths have another cause, and all suspects are cleared.


def suspect(model: type[Job]) -> Q:
    """It died twice without a step forward between: the next death will say more."""
    return Q(status=model.RUNNING, crashes__gte=limits.SUSPECT_CRASHES)


def out_of_quarantine(model: type[Job]) -> Q:
    """Left behind and to be tried again: at once the first time, later the more often it died, at last never."""
    lease = float(settings.COPILOT_LEASE_SECONDS)
    rested = Q(crashes=0)
    for crashes in range(1, limits.MAX_ATTEMPTS - 1):
        over = model.clock.after(-lease * 2 ** (crashes - 1))
        rested |= Q(crashes=crashes, lease_until__lt=over)
    let_go = Q(owner="") | Q(lease_until=None, crashes__lt=limits.MAX_ATTEMPTS - 1)
    asked_to_stop = Q(cancel_requested_at__isnull=False, crashes__lt=limits.MAX_ATTEMPTS - 1)
    return let_go | rested | asked_to_stop


def beside_no_suspect(model: type[Job], owner: str) -> Q:
    """What a worker may take over: a job about to be a suspect only while it holds no other one."""
    at_work = Q(owner=owner, lease_until__gt=model.clock.now())
    if not model._default_manager.filter(suspect(model), at_work).exists():
        return Q()
    return Q(owner="") | Q(crashes__lt=limits.SUSPECT_CRASHES - 1)


def clear_suspects(*, dead: str) -> int:
    """A worker died: unless it held a suspect itself, it shows that suspects at rest are not the cause. How many.

    A job dies unsuspected at most twice, so those that do kill workers cannot clear each other for ever.
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
    """A worker died together with others, which no job of its own does: nothing it held is suspected. How many."""
    return sum(
        model._default_manager.filter(owner=dead, status=model.RUNNING, crashes__gt=0).update(crashes=0)
        for model in job_models()
    )


# --- heartbeat ----------------------------------------------------------------------------------


def renew(model: type[Job], job_ids: Sequence[uuid.UUID], *, owner: str) -> dict[uuid.UUID, tuple[int, bool]]:
    """Renew the leases of one worker in one UPDATE; answers attempt and "cancel wanted" of those it renewed.

    A row that another transaction has locked is left out, so that it keeps no other lease from being renewed:
    nobody can claim it meanwhile, and the next beat tries it again. `held` says whether it is still the worker's.
    """
    seconds = float(settings.COPILOT_LEASE_SECONDS)
    with bounded(seconds / 3):
        mine = model._default_manager.filter(owner=owner, status=model.RUNNING)
        locked = mine.filter(pk__in=job_ids).select_for_update(skip_locked=True, of=("self",), no_key=True)
        renewed = _attempts(locked)
        mine.filter(pk__in=renewed).update(lease_until=model.clock.after(seconds))
    return renewed


def held(model: type[Job], job_ids: Sequence[uuid.UUID], *, owner: str) -> dict[uuid.UUID, tuple[int, bool]]:
    """Attempt and "cancel wanted" of those jobs that are the worker's."""
    return _attempts(model._default_manager.filter(pk__in=job_ids, owner=owner, status=model.RUNNING))


def _attempts(rows: QuerySet[Job]) -> dict[uuid.UUID, tuple[int, bool]]:
    return {
        pk: (attempt, asked_at is not None)
        for pk, attempt, asked_at in rows.values_list("pk", "attempt", "cancel_requested_at")
    }


# --- sweep --------------------------------------------------------------------------------------


def sweep(model: type[Job], *, held: Q | None = None, at_most: int = limits.SWEEP_BATCH) -> list[uuid.UUID]:
    """Find jobs that need a poke and note that they get one now; jobs past saving are ended.

    Those poked longest ago come first, so that no crowd of jobs that cannot start stands in front of others.
    What is `held` is left in peace.
    """
    guard.try_one(lambda: give_up(model), what=f"Giving up {model.__name__}s")
    if at_most <= 0:
        return []
    waiting = to_poke(model) if held is None else to_poke(model).exclude(held)
    if not waiting.exists():
        return []  # the usual case, without a transaction
    return _note_pokes(model, waiting, at_most)


@in_transaction
def _note_pokes(model: type[Job], waiting: QuerySet[Job], at_most: int) -> list[uuid.UUID]:
    needy = waiting.order_by(F("poked_at").asc(nulls_first=True), "queued_at")
    locked = needy.select_for_update(skip_locked=True)  # what another sweep holds is poked by that one
    ids = list(locked.values_list("pk", flat=True)[:at_most])
    model._default_manager.filter(pk__in=ids).update(poked_at=model.clock.now())
    return ids


def to_poke(model: type[Job]) -> QuerySet[Job]:
    stale = Q(poked_at=None) | Q(poked_at__lt=model.clock.after(-limits.REPOKE_SECONDS))
    queued = model.startable(model.live().filter(status=model.QUEUED))
    wanted = Q(pk__in=queued.values("pk")) | due(model) | (left_behind(model) & out_of_quarantine(model))
    return model.live().filter(wanted & stale)


def give_up(model: type[Job]) -> None:
    """End jobs whose attempts all died. Once: the status condition lets one caller win."""
    past_saving = left_behind(model) & exhausted(model)
    rows = model.live().filter(past_saving).values_list("pk", "cancel_requested_at")
    found = dict(rows[: limits.SWEEP_BATCH])

    def give_up_one(job_id: uuid.UUID) -> None:
        if found[job_id] is not None:
            end_unowned(model, job_id, past_saving, status=model.CANCELLED, reason="cancelled")
        else:
            end_unowned(model, job_id, past_saving, status=model.FAILED, reason="worker_lost")

    guard.run_each(found, give_up_one, what=f"Giving up a {model.__name__}")


def end_unclaimable(model: type[Job], job_id: uuid.UUID) -> bool:
    """End a job that no attempt can be begun for; False when somebody holds it or it has ended."""
    unheld = Q(status=model.QUEUED) | due(model) | left_behind(model)
    if end_unowned(model, job_id, unheld & asked_to_stop(), status=model.CANCELLED, reason="cancelled"):
        return True
    return end_unowned(model, job_id, unheld, status=model.FAILED, reason=INTERNAL_ERROR, error=NOT_CLAIMED)


def asked_to_stop() -> Q:
    return Q(cancel_requested_at__isnull=False)


# --- cancel -------------------------------------------------------------------------------------


def request_cancel(model: type[Job], job_id: uuid.UUID) -> bool:
    """Ask a job to stop: one that is not running ends here, a running one hears of it. False when it had ended."""
    live = model._default_manager.filter(pk=job_id).exclude(status__in=model.TERMINAL)
    parked = ~Q(status__in=[*model.TERMINAL, model.RUNNING])
    while live.exists():  # it may start or stop to run while we ask; then we ask again
        if end_unowned(model, job_id, parked, status=model.CANCELLED, reason="cancelled"):
            return True
        if live.filter(status=model.RUNNING).update(
            cancel_requested_at=Coalesce(F("cancel_requested_at"), model.clock.now())
        ):
            return True
    return False


def end_if_cancelled(model: type[Job], job_id: uuid.UUID) -> bool:
    """End a job that was put aside although it had been asked to stop: nobody is at it who would hear of it."""
    aside = Q(status=model.WAITING) | Q(status=model.RUNNING, owner="")
    asked = Q(cancel_requested_at__isnull=False)
    if not model._default_manager.filter(aside, asked, pk=job_id).exists():
        return False
    return end_unowned(model, job_id, aside & asked, status=model.CANCELLED, reason="cancelled")


def force_cancel(model: type[Job], job_id: uuid.UUID) -> bool:
    """End a job whose worker does not answer; the raised attempt fences that worker should it come back."""
    return end_unowned(model, job_id, Q(status=model.RUNNING), status=model.CANCELLED, reason="cancelled")


def release(model: type[Job], job_id: uuid.UUID) -> bool:
    """Take a running job from its worker, for another to go on with; the next claim fences the old one."""
    running = model._default_manager.filter(pk=job_id, status=model.RUNNING)
    return bool(running.update(lease_until=None, owner=""))


def free(model: type[Job], *, owner: str) -> int:
    """End the leases of a worker that is known to be dead. How many; a second time none."""
    held = model._default_manager.filter(owner=owner, status=model.RUNNING, lease_until__gt=model.clock.now())
    return held.update(lease_until=model.clock.after(-0.01))


def mark_failed(model: type[Job], job_id: uuid.UUID) -> bool:
    """End a job by an operator's word, whatever it is at; False when it had ended. A worker at it is fenced."""
    live = ~Q(status__in=model.TERMINAL)
    return end_unowned(model, job_id, live, status=model.FAILED, reason=BY_OPERATOR)


def end_unowned(
    model: type[Job], job_id: uuid.UUID, condition: Q, *, status: str, reason: str, error: str = ""
) -> bool:
    """End a job that no attempt can end itself. Once: `condition` must hold in the same UPDATE.

    News of it waits for the commit, also that of a transaction around this one. A job that cannot be closed
    properly is ended by the UPDATE alone, and its `error` says so: it must not come back for ever.
    """
    columns = {"status": status, "end_reason": reason}
    said = {"error": error} if error else {}
    try:
        return _end_and_close(model, job_id, condition, **columns, **said)
    except Exception as fault:  # of the hooks, which belong to other packages and read what came from outside
        if not guard.is_fault(fault):
            raise
        logger.exception("A job could not be closed; it is ended as it is", extra={"job_id": str(job_id)})
    return _end_row(model, job_id, condition, **columns, error=unclosed(error))


@in_transaction
def _end_and_close(model: type[Job], job_id: uuid.UUID, condition: Q, **columns: str) -> bool:
    model.lock_before(job_id)
    if not _end_row(model, job_id, condition, **columns):
        return False
    job = model._default_manager.get(pk=job_id)
    job.ended_unowned()
    job.ended()
    return True


@in_transaction
def _end_row(model: type[Job], job_id: uuid.UUID, condition: Q, **columns: str) -> bool:
    """End the row alone; the raised attempt fences whoever was at it."""
    ended = model._default_manager.filter(condition, pk=job_id).update(
        **columns,
        attempt=F("attempt") + 1,
        ended_at=model.clock.now(),
        owner="",
        lease_until=None,
    )
    if ended:
        after_commit(_after_end, model, job_id)  # news; the end itself stands
    return bool(ended)


def _after_end(model: type[Job], job_id: uuid.UUID) -> None:
    log.expire_soon(job_id)
    log.nudge(job_id)
    model._default_manager.get(pk=job_id).after_end()
