"""The only way to write to a job's event log: number the events and hold back what is not committed yet."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from durable import event_log, limits
from durable.errors import LeaseLost
from durable.event_log import Event, LoggedEvent, Position, one_line


class UnsealedEvent:
    """An event that has its position but is not in a page yet."""

    __slots__ = ("_body", "after", "at", "event", "lasting", "room")

    def __init__(self, at: Position, after: Position, event: Event, lasting: bool) -> None:
        self.at = at
        self.after = after
        self.event: Event | None = event
        self.lasting = lasting
        self.room = limits.MAX_MERGED_EVENTS if lasting else 0  # how many more events may be merged into it
        self._body: str | None = one_line(event.encode())

    @property
    def body(self) -> str:
        event = self.event
        if self._body is None and event is not None:
            self._body = one_line(event.encode())
        return self._body or ""

    def seal(self) -> str:
        """Encode the event once; only the body is kept, because there may be many open events."""
        body = self.body
        self.room = 0
        self.event = None
        return body

    def entry(self) -> LoggedEvent:
        return LoggedEvent(self.at, self.after, self.body)

    def merge(self, event: Event) -> bool:
        """Merge a later event into this one; return False if the two must stay apart."""
        if not self.room or self.event is None:
            return False
        merged = self.event.merge(event)
        if merged is None:
            return False
        self.event = merged
        self.room -= 1
        self._body = None
        return True


class Emitter:
    """The events of one attempt at a job. Thread-safe; `emit` never waits.

    Events since the last commit are *open*: they exist in Redis and here, and are sealed in an EventPage by the
    next commit. Should Redis lose its data, the writer puts the open ones back under the same ids.
    """

    def __init__(
        self, job_id: uuid.UUID, attempt: int, *, after: Position, wake: Callable[[Emitter], None]
    ) -> None:
        self.job_id = job_id
        self.attempt = attempt
        self.stream = event_log.stream_key(job_id)
        self.epoch = (
            0  # the writer's connection that carried the last batch; 0 = the log may lack open events
        )
        self.on_fenced: Callable[[], None] = lambda: None
        self.on_many_open: Callable[[], None] = lambda: None
        self.has_open_pages = False  # some may have been stored since the last commit
        self._wake = wake
        self._seq = 0
        self._sealed = after
        self._last = after
        self._open: list[UnsealedEvent] = []
        self._saved = 0  # so many of the open events are in open pages
        self._abandoned: list[
            UnsealedEvent
        ] = []  # void, but readers have seen them; the next commit stores them
        self._buffer: list[UnsealedEvent] = []
        self._held = False
        self._ended = False
        self._closed = False
        self._sending = 0
        self._state = threading.Lock()
        self._calm = threading.Condition(self._state)
        self._one_commit = threading.Lock()
        self._committer: int | None = None

    def open(self, events: Sequence[Event]) -> list[LoggedEvent]:
        """Number the first events of the attempt, for the claim's own page; they are sent after `release`."""
        with self._state:
            self._held = True
            for event in events:
                self._append(event, lasting=True)
            entries = [pending.entry() for pending in self._open]
            self._open.clear()
            self._sealed = self._last
            self._close_last()
            return entries

    def release(self) -> None:
        """Send the events of the claim, which has committed."""
        with self._state:
            self._held = False
        self._wake(self)

    def emit(self, event: Event) -> None:
        """Send a lasting event, which the next commit stores."""
        with self._state:
            if self._buffer and not self._ended and self._buffer[-1].merge(event):
                return
            self._append(event, lasting=True)
        self._wake(self)
        if self.has_many_open:
            self.on_many_open()

    def hint(self, event: Event) -> None:
        """Send a transient event (progress, status): live readers see it, the database does not store it."""
        with self._state:
            self._append(event, lasting=False)
        self._wake(self)

    def reset(self, event: Event) -> None:
        """Void the open events (of an aborted try) and announce it with `event`; waits for a commit in progress."""
        with self._between_commits(), self._state:
            self._void()
            self._append(event, lasting=True)
        self._wake(self)

    def abandon(self) -> None:
        """Void the open events silently; the next attempt announces where it resumes."""
        with self._between_commits(), self._state:
            self._void()

    @contextmanager
    def committing(self, events: Sequence[Event] = ()) -> Iterator[list[LoggedEvent]]:
        """Yield the entries a commit must store; `events` and those emitted meanwhile are sent once it succeeds.

        After a rollback `events` never happened; after a lost or doubtful commit (LeaseLost) this attempt sends
        nothing more.
        """
        with self._between_commits():
            with self._state:
                before = self._last
                count = len(self._open)
                for event in events:
                    self._append(event, lasting=True)
                self._held = True
                self._close_last()
                entries = [pending.entry() for pending in self._open]
                announced = self._open[count:]
            try:
                yield entries
            except LeaseLost:
                self.close()
                raise
            except BaseException:
                self._take_back(announced, before)
                raise
            with self._state:
                del self._open[: len(entries)]
                self._abandoned.clear()
                self._saved = 0
                self.has_open_pages = False
                if entries:
                    self._sealed = entries[-1].at
                self._held = False
        self._wake(self)

    def abandoned(self) -> list[LoggedEvent]:
        """Return the events that were voided since the last commit and may have been seen."""
        with self._state:
            return [pending.entry() for pending in self._abandoned]

    @property
    def has_many_open(self) -> bool:
        """Return whether there are so many unsaved open events that the log may soon drop the first."""
        return len(self._open) - self._saved >= limits.OPEN_PAGE_EVENTS

    @contextmanager
    def saving(self) -> Iterator[list[LoggedEvent]]:
        """Yield the open entries that are not saved yet, to be stored in an open page; they stay open."""
        with self._between_commits():
            with self._state:
                self._close_last()
                entries = [pending.entry() for pending in self._open[self._saved :]]
                self.has_open_pages |= bool(entries)  # also when the outcome stays unknown
            yield entries
            with self._state:
                self._saved = min(self._saved + len(entries), len(self._open))

    def end(self) -> None:
        """Accept no more events; those already accepted are still sent."""
        with self._state:
            self._ended = True

    def close(self) -> None:
        """Send nothing more: this attempt is over."""
        with self._state:
            self._ended = self._closed = True
            self._buffer.clear()
            self._open.clear()
            self._abandoned.clear()
            self._calm.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait at most `seconds` until everything has reached Redis; the job does not depend on it."""
        with self._state:
            return self._calm.wait_for(
                lambda: self._closed or (not self._buffer and not self._sending), seconds
            )

    # --- for the writer -------------------------------------------------------------------------

    def drain(self) -> list[UnsealedEvent]:
        """Return the events that may be sent now."""
        with self._state:
            if self._held or not self._buffer:
                return []
            batch, self._buffer = self._buffer, []
            self._sending += 1
            return batch

    def sent(self) -> None:
        with self._state:
            self._sending -= 1
            self._calm.notify_all()

    def restore(self, batch: list[UnsealedEvent]) -> None:
        """Requeue a batch that Redis did not accept; drop the oldest if there is too much."""
        with self._state:
            self._sending -= 1
            if not self._closed:
                self._buffer = (batch + self._buffer)[-limits.MAX_LOG_ENTRIES :]
                batch[-1].room = 0
            self._calm.notify_all()

    def with_open(self, batch: list[UnsealedEvent]) -> list[UnsealedEvent]:
        """Return the batch preceded by all events that no page has, for a log that may have lost some."""
        with self._state:
            known = (*self._abandoned, *self._open)
            wanted = {pending.at: pending for pending in known if pending.at < batch[-1].at}
        wanted.update((pending.at, pending) for pending in batch)
        return [wanted[at] for at in sorted(wanted)]

    # --- inside the locks -----------------------------------------------------------------------

    @contextmanager
    def _between_commits(self) -> Iterator[None]:
        if self._committer == threading.get_ident():
            raise RuntimeError("A commit's own work can neither commit nor void events.")
        with self._one_commit:
            self._committer = threading.get_ident()
            try:
                yield
            finally:
                self._committer = None

    def _append(self, event: Event, *, lasting: bool) -> None:
        if self._ended:
            return
        pending = UnsealedEvent(Position(self.attempt, self._seq + 1), self._last, event, lasting)
        self._seq += 1
        self._buffer.append(pending)
        if lasting:
            self._open.append(pending)
            self._last = pending.at

    def _close_last(self) -> None:
        if self._buffer:
            self._buffer[-1].room = 0

    def _void(self) -> None:
        """Drop the open events; those no reader has seen are never sent."""
        unsent = {pending.at for pending in self._buffer}
        self._abandoned += [pending for pending in self._open if pending.at not in unsent]
        self._open.clear()
        self._saved = 0
        self._last = self._sealed
        self._buffer = [pending for pending in self._buffer if pending.at <= self._sealed]
        self._close_last()
        self._calm.notify_all()

    def _take_back(self, announced: list[UnsealedEvent], before: Position) -> None:
        """Undo a rolled-back commit: unlink its own events and join those after it to those before."""
        with self._state:
            self._held = False
            if announced and not self._closed:
                gone = {pending.at for pending in announced}
                self._open = [pending for pending in self._open if pending.at not in gone]
                self._buffer = [pending for pending in self._buffer if pending.at not in gone]
                for pending in self._buffer:
                    if pending.after in gone:
                        pending.after = before
                if self._last in gone:
                    self._last = before
                self._close_last()
        self._wake(self)
