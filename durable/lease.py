"""A lease: one attempt's right to write about one job, and the fence that ends it."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Generic, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from durable import crashpoints, database, event_log, plain_sql, storable, tracing
from durable.database import retry_database
from durable.emitter import Emitter
from durable.errors import HandOver, JobCancelled, JobTimedOut, LeaseLost
from durable.event_log import Event, LoggedEvent, Position
from durable.lifecycle import lifecycle_of
from durable.models import Cause, Job
from durable.per_process import PerProcess
from durable.stop_signal import StopReason, StopSignal
from durable.writer import writer

T = TypeVar("T")
logger = logging.getLogger(__name__)

FLUSH_SECONDS = 2.0
INTERNAL_ERROR = "internal_error"
NOT_CLOSED = "Closing it failed: what should have changed with its end has not. The log has the details."
NOT_SAVED = "It has ended, but its result could not be saved. The log has the details."


class Lease:
    """What a worker holds while it runs a job.

    Every write goes through `commit`, which first proves in the same transaction that this attempt still owns the job.
    So a worker that was frozen and resumes can change nothing.
    """

    def __init__(self, job: Job, *, seconds: float, after: Position) -> None:
        self.model = type(job)
        self.lifecycle = lifecycle_of(self.model)
        self.job = job  # as it was claimed
        self.after = after  # position of the last event of earlier attempts
        self.job_id: uuid.UUID = job.pk
        self.attempt = job.attempt
        self.owner = job.owner
        self.log_context = job.log_context()
        self.seconds = seconds
        self.cause = Cause.QUEUED
        self.silent_since: datetime | None = None  # when the previous attempt's lease expired
        self.commits = job.commits
        self._is_lost = False
        self.over = False  # this attempt has ended or released the job
        self.ended_as: tuple[str, str] | None = None  # status and reason, once this attempt has ended the job
        self.unsaved_end: tuple[str, str] | None = (
            None  # status and reason of an end that could not be written
        )
        self._ended_job: Job | None = None  # the row as it was closed
        self.renewed_at = self._claimed = time.monotonic()
        self.claimed_at: datetime = getattr(job, "claimed_at", None) or timezone.now()
        self.stop = StopSignal()
        self.draining = False
        self.emitter = Emitter(self.job_id, self.attempt, after=after, wake=writer().wake)
        self.emitter.on_fenced = lambda: self.stop.set(StopReason.LOST)
        self.emitter.on_many_open = self._save_soon
        self._saving = threading.Lock()

    def traced(self) -> tracing.AttemptSpan:
        """Return this attempt for tracing, with the previous one if that died."""
        job = self.job
        lost_until = self.silent_since if self.cause == Cause.WORKER_LOST else None
        last_sign = lost_until - timedelta(seconds=self.seconds) if lost_until else None
        return tracing.AttemptSpan(
            job=self.model.__name__.lower(),
            job_id=self.job_id,
            number=self.attempt,
            cause=self.cause,
            traceparent=job.traceparent,
            joins=job.joins_trace,
            attributes={f"ratchet.{name}": value for name, value in self.log_context.items()},
            lost_from=job.started_at if lost_until and self.attempt == 2 else last_sign,
            lost_until=lost_until,
        )

    def now(self) -> datetime:
        """Return the database's time: its answer at the claim plus the time since."""
        return self.claimed_at + timedelta(seconds=time.monotonic() - self._claimed)

    def open_log(self, events: Sequence[Event]) -> None:
        """Store the first events of this attempt, inside the claim's transaction; they are sent after its commit."""
        event_log.store(self.job_id, self.emitter.open(events))

    def check(self) -> None:
        """Raise if this attempt must stop. Call it between units of work."""
        if self._is_lost:
            raise LeaseLost
        match self.stop.reason:
            case None:
                return
            case StopReason.LOST:
                raise LeaseLost
            case StopReason.CANCELLED:
                raise JobCancelled
            case StopReason.HAND_OVER:
                raise HandOver
            case StopReason.TIMED_OUT:
                raise JobTimedOut

    def commit(
        self,
        work: Callable[[], T],
        *,
        events: Sequence[Event] = (),
        lock_before: bool = False,
        **changes: Any,
    ) -> T:
        """Run `work` in one fenced transaction, store the open events with it, then send `events`.

        `changes` are columns of the job; `lock_before` calls that lifecycle hook first. Takes effect once: a commit
        whose answer was lost is recognised by its number, so `work` runs again only after a rollback. If the database
        stays down for the length of the lease, this attempt ends with LeaseLost.
        """
        if self._is_lost or self.over:
            raise LeaseLost
        with self.emitter.committing(events) as entries:
            asked_at = time.monotonic()
            once = Transaction(self, work, entries, changes, lock_before=lock_before)
            try:
                retry_database(once.run, seconds=self.seconds)
            except (OperationalError, InterfaceError) as error:
                if not database.may_pass(error):
                    raise
                raise self._lost() from error  # in doubt: whatever happened, this attempt cannot continue
            except Exception:
                if not once.committed:
                    raise
                logger.exception("A callback after a commit failed; the commit itself is unaffected")
            self.commits += 1
            self.renewed_at = asked_at
            if changes.get("status") in self.model.TERMINAL:
                crashpoints.reached("after_final_commit")
            return once.result[0]

    def fence(self, number: int, changes: dict[str, Any], *, tried: bool) -> bool:
        """Prove that this attempt owns the job; return False if this commit succeeded on an earlier try."""
        values = {"lease_until": self.model.clock.after(self.seconds), "commits": number} | changes
        mine = {"id": self.job_id, "attempt": self.attempt}
        mine |= {"status": self.model.RUNNING, "owner": self.owner, "commits": number - 1}
        if plain_sql.is_plain(values):
            is_held = plain_sql.update(self.model, mine, values)
        else:
            is_held = self.model._default_manager.filter(**mine).update(**values)
        if is_held:
            return True
        if tried and self._mine().filter(commits=number).exists():
            return False
        raise self._lost()

    def save_open(self) -> None:
        """Store the open events without a commit, for readers of a long step whose log in Redis was trimmed.

        Fenced like a commit. Failures are ignored: the events stay open and are stored with the next ones.
        """
        with self.emitter.saving() as entries, transaction.atomic():
            if not entries:
                return
            held = self._mine().filter(status=self.model.RUNNING, owner=self.owner)
            if not held.update(lease_until=self.model.clock.after(self.seconds)):
                raise self._lost()
            event_log.store_open(self.job_id, entries)

    def _save_soon(self) -> None:
        """Run `save_open` on its thread, one call at a time."""
        if self._saving.acquire(blocking=False):
            saver().submit(self._save)

    def _save(self) -> None:
        try:
            while self._has_to_save:
                self.save_open()
        except LeaseLost:
            logger.info("A job was fenced while its open events were stored")
        except (DatabaseError, InterfaceError) as error:
            logger.warning("Open events could not be stored now: %s", error)
            return  # the next event tries again
        finally:
            connection.close()
            self._saving.release()
        if self._has_to_save:  # events came while this call was ending, and found it still busy
            self._save_soon()

    @property
    def _has_to_save(self) -> bool:
        return self.emitter.has_many_open and not (self._is_lost or self.over)

    def _lost(self) -> LeaseLost:
        self._is_lost = True
        self.stop.set(StopReason.LOST)
        return LeaseLost()

    def _mine(self) -> Any:
        return self.model._default_manager.filter(pk=self.job_id, attempt=self.attempt)

    def finish(
        self,
        status: str,
        *,
        reason: str = "",
        error: str = "",
        work: Callable[[], object] = lambda: None,
        events: Sequence[Event] = (),
        **changes: Any,
    ) -> None:
        """End the job: commit the final status first, then send the closing events.

        If the lifecycle's `ended` raises, the end is committed without its changes and `error` says so. An end that
        cannot be written is raised; the caller may try another one, and `end_plainly` is the last resort.
        """
        end: dict[str, Any] = {"status": status, "end_reason": reason, "error": storable.text(error)}
        end["ended_at"] = self._end_time()

        def ending() -> None:
            work()
            self._close(changes | end)

        try:
            try:
                self._end(ending, events, **changes, **end)
            except CloseFailed as failed:
                logger.error("A job could not be closed with its end", exc_info=failed.__cause__)
                self._end(work, events, **changes, **end | {"error": unclosed(end["error"])})
        except Exception as failure:
            if database.is_fault(failure):
                self.unsaved_end = (status, reason)
            raise

    def end_plainly(self) -> None:
        """End the job by its columns alone if its end could not be written, so that it is not run or charged again."""
        assert self.unsaved_end is not None
        status, reason = self.unsaved_end
        if status == self.model.COMPLETED:
            status, reason = self.model.FAILED, INTERNAL_ERROR
        self._end(
            lambda: None, (), status=status, end_reason=reason, error=NOT_SAVED, ended_at=self._end_time()
        )

    def _end_time(self) -> Any:
        """Return the time of the end: the database's own, or ours if the row is not read again."""
        return self.model.clock.now() if self.lifecycle.rereads_ended else self.now()

    def _end(self, work: Callable[[], object], events: Sequence[Event], **columns: Any) -> None:
        self.commit(work, events=events, **columns, **released_columns())
        self.ended_as = (columns["status"], columns["end_reason"])
        self.unsaved_end = None
        self._is_over()
        event_log.expire_soon(self.job_id)
        event_log.nudge(self.job_id)
        ended = self._ended_job or retry_database(self._read, seconds=self.seconds)
        follow_up = partial(self.lifecycle.after_end, ended)
        database.try_one(follow_up, what="What follows the end of a job", item=self.job_id)

    def _close(self, columns: dict[str, Any]) -> None:
        try:
            self._ended_job = None  # of an earlier try, which was rolled back
            ended = self._read() if self.lifecycle.rereads_ended else self._with(columns)
            self.lifecycle.ended(ended)
            self._ended_job = ended
        except Exception as error:
            if database.is_fault(error):
                raise CloseFailed from error
            raise

    def _with(self, columns: dict[str, Any]) -> Job:
        """Return the job as it was claimed, with the columns its end has just written."""
        for name, value in (columns | released_columns()).items():
            setattr(self.job, name, value)
        return self.job

    def _read(self) -> Job:
        job: Job = self._mine().select_related(*self.model.reads_with).get()
        return job

    def wait_until_due(
        self,
        seconds: float,
        *,
        work: Callable[[], object] = lambda: None,
        events: Sequence[Event] = (),
        **changes: Any,
    ) -> None:
        """Release the job to wait in the database; a sweep pokes it when it is due."""
        self.emitter.abandon()
        due: dict[str, Any] = {"status": self.model.WAITING, "run_at": self.model.clock.after(seconds)}
        self.commit(work, events=events, **changes, **due, **released_columns())
        self._is_over()

    def suspend(self, work: Callable[[], object], **changes: Any) -> None:
        """Free this worker: the job waits until it is woken, or due at the `run_at` in `changes`.

        Nothing changes when `work` raises.
        """
        self.commit(work, status=self.model.WAITING, **changes, **released_columns())
        self._is_over()

    def hand_over(self) -> None:
        """Release the job, still running, for another worker to claim at once."""
        self.emitter.abandon()
        self.commit(lambda: None, **released_columns())
        self._is_over()

    def _is_over(self) -> None:
        self.over = True
        self.emitter.end()
        self.emitter.flush(FLUSH_SECONDS)


class CloseFailed(Exception):
    """The rows that must change with the end of a job could not be changed."""


def unclosed(error: str) -> str:
    return f"{error} {NOT_CLOSED}".strip()


class Transaction(Generic[T]):
    """One commit of a lease, which may need several tries."""

    def __init__(
        self,
        lease: Lease,
        work: Callable[[], T],
        entries: list[LoggedEvent],
        changes: dict[str, Any],
        *,
        lock_before: bool,
    ) -> None:
        self.lease = lease
        self.work = work
        self.entries = entries
        self.changes = changes
        self.lock_before = lock_before
        self.number = lease.commits + 1
        self.result: list[T] = []  # the result of `work`, once it has returned
        self.committed = False

    def run(self) -> None:
        with transaction.atomic():
            if self.lock_before:
                self.lease.lifecycle.lock_before(self.lease.job_id)
            if not self.lease.fence(self.number, self.changes, tried=bool(self.result)):
                return
            self.result.clear()
            transaction.on_commit(self._note)  # registered first, so that it is called whatever the others do
            if self.lease.emitter.has_open_pages:
                event_log.drop_open(self.lease.job_id)
            if self.lease.lifecycle.keeps_abandoned:
                event_log.store_abandoned(self.lease.job_id, self.lease.emitter.abandoned())
            event_log.store(self.lease.job_id, self.entries)
            self.result.append(self.work())

    def _note(self) -> None:
        self.committed = True


def released_columns() -> dict[str, Any]:
    return {"owner": "", "lease_until": None}


saver = PerProcess(lambda: ThreadPoolExecutor(1, thread_name_prefix="open-events"))
