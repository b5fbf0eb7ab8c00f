"""The one way into a job's event log: it gives each event its place and holds back what is not committed yet."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from durable import limits, log
from durable.errors import LeaseLost
from durable.events import Entry, Event, Position, one_line


class Pending:
    """An event that has its place and is not sealed in a page yet."""

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
        """The body, final now: only that is kept, for open events may be many."""
        body = self.body
        self.room = 0
        self.event = None
        return body

    def entry(self) -> Entry:
        return Entry(self.at, self.after, self.body)

    def merge(self, event: Event) -> bool:
        """Take a later event in; False where the two must stay apart."""
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
        self.stream = log.stream_key(job_id)
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
        self._open: list[Pending] = []
        self._saved = 0  # so many of the open events are in open pages
        self._buffer: list[Pending] = []
        self._held = False
        self._ended = False
        self._closed = False
        self._sending = 0
        self._state = threading.Lock()
        self._calm = threading.Condition(self._state)
        self._one_commit = threading.Lock()
        self._committer: int | None = None

    def open(self, events: Sequence[Event]) -> list[Entry]:
        """Place the first events of the attempt, for the claim's own page; they go out after `release`."""
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
        """The claim is committed: what it placed may go out."""
        with self._state:
            self._held = False
        self._wake(self)

    def emit(self, event: Event) -> None:
        """Send an event that lasts: it will be in the page of the next commit."""
        with self._state:
            if self._buffer and not self._ended and self._buffer[-1].merge(event):
                return
            self._append(event, lasting=True)
        self._wake(self)
        if self.has_many_open:
            self.on_many_open()

    def hint(self, event: Event) -> None:
        """Send a passing note (progress, status): live readers see it, the database does not keep it."""
        with self._state:
            self._append(event, lasting=False)
        self._wake(self)

    def reset(self, event: Event) -> None:
        """Void the open events (a try that was cut off) and say so with `event`; waits for a commit under way."""
        with self._between_commits(), self._state:
            self._void()
            self._append(event, lasting=True)
        self._wake(self)

    def abandon(self) -> None:
        """Void the open events without a word: the next attempt says where it goes on."""
        with self._between_commits(), self._state:
            self._void()

    @contextmanager
    def committing(self, events: Sequence[Event] = ()) -> Iterator[list[Entry]]:
        """Yield the entries a commit must store; `events` (and whatever comes meanwhile) go out once it succeeded.

        When the commit was rolled back, `events` have never been; when it is lost or in doubt (LeaseLost), this
        attempt sends nothing any more.
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
                self._saved = 0
                self.has_open_pages = False
                if entries:
                    self._sealed = entries[-1].at
                self._held = False
        self._wake(self)

    @property
    def has_many_open(self) -> bool:
        """Whether so many open events are in no page that the log may soon drop the first of them."""
        return len(self._open) - self._saved >= limits.OPEN_PAGE_EVENTS

    @contextmanager
    def saving(self) -> Iterator[list[Entry]]:
        """Yield the open entries that are in no page yet, to be stored in an open page; they stay open."""
        with self._between_commits():
            with self._state:
                self._close_last()
                entries = [pending.entry() for pending in self._open[self._saved :]]
                self.has_open_pages |= bool(entries)  # also when nobody will know what became of it
            yield entries
            with self._state:
                self._saved = min(self._saved + len(entries), len(self._open))

    def end(self) -> None:
        """Take nothing more; what is there still goes out."""
        with self._state:
            self._ended = True

    def close(self) -> None:
        """Send nothing any more: this attempt is over."""
        with self._state:
            self._ended = self._closed = True
            self._buffer.clear()
            self._open.clear()
            self._calm.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait until everything has reached Redis, at most that long; the job does not depend on it."""
        with self._state:
            return self._calm.wait_for(
                lambda: self._closed or (not self._buffer and not self._sending), seconds
            )

    # --- for the writer -------------------------------------------------------------------------

    def drain(self) -> list[Pending]:
        """Take what may be sent now."""
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

    def restore(self, batch: list[Pending]) -> None:
        """Take a batch back that Redis did not get; the oldest go first when there is too much."""
        with self._state:
            self._sending -= 1
            if not self._closed:
                self._buffer = (batch + self._buffer)[-limits.MAX_LOG_ENTRIES :]
                batch[-1].room = 0
            self._calm.notify_all()

    def with_open(self, batch: list[Pending]) -> list[Pending]:
        """A batch for a log that may have lost something: all open events up to its end, and its own."""
        with self._state:
            wanted = {pending.at: pending for pending in self._open if pending.at < batch[-1].at}
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
        pending = Pending(Position(self.attempt, self._seq + 1), self._last, event, lasting)
        self._seq += 1
        self._buffer.append(pending)
        if lasting:
            self._open.append(pending)
            self._last = pending.at

    def _close_last(self) -> None:
        if self._buffer:
            self._buffer[-1].room = 0

    def _void(self) -> None:
        """Forget the open events; those that no reader has seen are not sent at all."""
        self._open.clear()
        self._saved = 0
        self._last = self._sealed
        self._buffer = [pending for pending in self._buffer if pending.at <= self._sealed]
        self._close_last()
        self._calm.notify_all()

    def _take_back(self, announced: list[Pending], before: Position) -> None:
        """The commit was rolled back: its own events leave the chain, what came after joins on to what was before."""
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
