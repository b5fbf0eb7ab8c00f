"""A lease: the right of one attempt to write about one job, and the fence that ends it."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from durable import crashpoints, guard, log, storable, tracing
from durable.emitter import Emitter
from durable.errors import HandOver, JobCancelled, LeaseLost, TimedOut
from durable.events import Entry, Event, Position
from durable.models import Cause, Job
from durable.process import PerProcess
from durable.retrying import retry_database
from durable.stop import StopReason, StopSignal
from durable.writer import writer

T = TypeVar("T")
logger = logging.getLogger(__name__)

FLUSH_SECONDS = 2.0
INTERNAL_ERROR = "internal_error"
NOT_CLOSED = "Closing it failed: what should have changed with its end has not. The log has the details."
NOT_SAVED = "It has ended, but its result could not be saved. The log has the details."


class Lease:
    """What a worker holds while it works on a job.

    Every write goes through `commit`, which first proves, in the same transaction, that this attempt still owns
    the job; so a worker that was frozen and comes back can change nothing.
    """

    def __init__(self, job: Job, *, seconds: float, after: Position) -> None:
        self.model = type(job)
        self.job = job  # as it was claimed
        self.after = after  # the last event of earlier attempts
        self.job_id: uuid.UUID = job.pk
        self.attempt = job.attempt
        self.owner = job.owner
        self.log_context = job.log_context()
        self.seconds = seconds
        self.cause = Cause.QUEUED
        self.silent_since: datetime | None = None  # when the lease of the attempt before ran out
        self.commits = job.commits
        self._is_lost = False
        self.over = False  # this attempt has ended the job or given it away
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

    def traced(self) -> tracing.Attempt:
        """This attempt, as its trace tells of it; with the one before, when that died without a word."""
        job = self.job
        lost_until = self.silent_since if self.cause == Cause.WORKER_LOST else None
        last_sign = lost_until - timedelta(seconds=self.seconds) if lost_until else None
        return tracing.Attempt(
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
        """The database's time: what it said at the claim, and what has passed since."""
        return self.claimed_at + timedelta(seconds=time.monotonic() - self._claimed)

    def check(self) -> None:
        """Raise when this attempt must stop; called between the pieces of the work."""
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
                raise TimedOut

    def commit(
        self,
        work: Callable[[], T],
        *,
        events: Sequence[Event] = (),
        lock_before: bool = False,
        **changes: Any,
    ) -> T:
        """Run `work` in one fenced transaction, store the open events with it, then send `events`.

        `changes` are columns of the job; with `lock_before` the rows of that hook are locked before the job's own.
        Takes effect once: a commit whose answer was lost is known by its number,
        so `work` runs again only after a rollback. A database that stays away for the length of the lease ends
        this attempt with LeaseLost.
        """
        if self._is_lost or self.over:
            raise LeaseLost
        with self.emitter.committing(events) as entries:
            asked_at = time.monotonic()
            once = Transaction(self, work, entries, changes, lock_before=lock_before)
            try:
                retry_database(once.run, seconds=self.seconds)
            except (OperationalError, InterfaceError) as error:
                if not guard.may_pass(error):
                    raise
                raise self._lost() from error  # in doubt: whatever became of it, this attempt cannot go on
            except Exception:
                if not once.committed:
                    raise
                logger.exception("What was to happen after a commit failed; the commit itself stands")
            self.commits += 1
            self.renewed_at = asked_at
            if changes.get("status") in self.model.TERMINAL:
                crashpoints.reached("after_final_commit")
            return once.result[0]

    def fence(self, number: int, changes: dict[str, Any], *, tried: bool) -> bool:
        """Prove that this attempt owns the job; False when this very commit went through on an earlier try."""
        values = {"lease_until": self.model.clock.after(self.seconds), "commits": number} | changes
        held = self._mine().filter(status=self.model.RUNNING, owner=self.owner, commits=number - 1)
        if held.update(**values):
            return True
        if tried and self._mine().filter(commits=number).exists():
            return False
        raise self._lost()

    def save_open(self) -> None:
        """Store the open events without a commit: readers find there what a long step's log in Redis has dropped.

        Fenced like a commit. A failure is nothing: they are open still, and are stored with the next ones.
        """
        with self.emitter.saving() as entries, transaction.atomic():
            if not entries:
                return
            held = self._mine().filter(status=self.model.RUNNING, owner=self.owner)
            if not held.update(lease_until=self.model.clock.after(self.seconds)):
                raise self._lost()
            log.store_open(self.job_id, entries)

    def _save_soon(self) -> None:
        """Have `save_open` done on the thread for that; once at a time."""
        if self._saving.acquire(blocking=False):
            saver().submit(self._save)

    def _save(self) -> None:
        try:
            while self.emitter.has_many_open and not (self._is_lost or self.over):
                self.save_open()
        except LeaseLost:
            logger.info("A job was fenced while its open events were stored")
        except (DatabaseError, InterfaceError) as error:
            logger.warning("Open events could not be stored now: %s", error)
        finally:
            connection.close()
            self._saving.release()

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
        """End the job: the final status is committed first, the closing events go out after it.

        Without what `ended` should change, and with a word about that, when `ended` raises. An end that cannot be
        written is raised; the caller may try another one, and `end_plainly` is the last resort.
        """
        end: dict[str, Any] = {"status": status, "end_reason": reason, "error": storable.text(error)}

        def ending() -> None:
            work()
            self._close()

        try:
            try:
                self._end(ending, events, **changes, **end)
            except CloseFailed as failed:
                logger.error("A job could not be closed with its end", exc_info=failed.__cause__)
                self._end(work, events, **changes, **end | {"error": unclosed(end["error"])})
        except Exception as failure:
            if guard.is_fault(failure):
                self.unsaved_end = (status, reason)
            raise

    def end_plainly(self) -> None:
        """End a job whose end could not be written: with its bare columns, so that it is neither run nor paid again."""
        assert self.unsaved_end is not None
        status, reason = self.unsaved_end
        if status == self.model.COMPLETED:
            status, reason = self.model.FAILED, INTERNAL_ERROR
        self._end(lambda: None, (), status=status, end_reason=reason, error=NOT_SAVED)

    def _end(self, work: Callable[[], object], events: Sequence[Event], **columns: Any) -> None:
        self.commit(work, events=events, **columns, ended_at=self.model.clock.now(), **given_back())
        self.ended_as = (columns["status"], columns["end_reason"])
        self.unsaved_end = None
        self._is_over()
        log.expire_soon(self.job_id)
        log.nudge(self.job_id)
        ended = self._ended_job or retry_database(self._read, seconds=self.seconds)
        guard.try_one(ended.after_end, what="What follows the end of a job", item=self.job_id)

    def _close(self) -> None:
        try:
            self._ended_job = None  # of an earlier try, which was rolled back
            ended = self._read()
            ended.ended()
            self._ended_job = ended
        except Exception as error:
            if guard.is_fault(error):
                raise CloseFailed from error
            raise

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
        """Free this worker: the job waits in the database and is poked again when it is due."""
        self.emitter.abandon()
        due: dict[str, Any] = {"status": self.model.WAITING, "run_at": self.model.clock.after(seconds)}
        self.commit(work, events=events, **changes, **due, **given_back())
        self._is_over()

    def put_aside(self, work: Callable[[], object], **changes: Any) -> None:
        """Free this worker: `changes` say when and for what the job comes back. Not when `work` raises."""
        self.commit(work, **changes, owner="")
        self._is_over()

    def hand_over(self) -> None:
        """Give the job back, still running, for another worker to take at once."""
        self.emitter.abandon()
        self.commit(lambda: None, **given_back())
        self._is_over()

    def _is_over(self) -> None:
        self.over = True
        self.emitter.end()
        self.emitter.flush(FLUSH_SECONDS)


class CloseFailed(Exception):
    """What should change with the end of a job could not be changed."""


def unclosed(error: str) -> str:
    return f"{error} {NOT_CLOSED}".strip()


class Transaction(Generic[T]):
    """One commit of a lease, which may have to be tried more than once."""

    def __init__(
        self,
        lease: Lease,
        work: Callable[[], T],
        entries: list[Entry],
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
        self.result: list[T] = []  # what `work` answered, once it came to its end
        self.committed = False

    def run(self) -> None:
        with transaction.atomic():
            if self.lock_before:
                self.lease.model.lock_before(self.lease.job_id)
            if not self.lease.fence(self.number, self.changes, tried=bool(self.result)):
                return
            self.result.clear()
            transaction.on_commit(self._note)  # the first of all, so that it is called whatever the others do
            if self.lease.emitter.has_open_pages:
                log.drop_open(self.lease.job_id)
            log.store(self.lease.job_id, self.entries)
            self.result.append(self.work())

    def _note(self) -> None:
        self.committed = True


def given_back() -> dict[str, Any]:
    return {"owner": "", "lease_until": None}


saver = PerProcess(lambda: ThreadPoolExecutor(1, thread_name_prefix="open-events"))
