"""Reading a turn from any position, live or ended, from the log or the database, without gap or repeat."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from types import TracebackType
from typing import Any

from django.db import InterfaceError, OperationalError

from chat import limits, protocol, replay
from chat.delivery.shared_reads import SharedReads, TurnStatus, loop_cache
from chat.events import AttemptStarted, QueuePosition
from chat.threads import in_thread
from durable import counters, event_log
from durable import limits as durable_limits
from durable.event_log import START, LoggedEvent, Position
from durable.redis import RedisError

Batch = list[LoggedEvent]  # entries that came together, in order; empty if nothing came for a while
MANY_ENTRIES = 20  # a larger batch is a reader catching up, and its deltas are merged
MAX_UNREAD = 1_000  # announcements; a reader that is further behind goes back to the log
QUIET_CHECKS_PER_READ = 5  # status checks without entries before the log is read again anyway


class Past(list[LoggedEvent]):
    """Events of a turn; a subclass of list, because a plain list cannot be weakly referenced."""


_pasts: SharedReads[Any, Past | None] = SharedReads()


async def read(
    turn_id: uuid.UUID, *, after: Position = START, is_new: bool = False, with_abandoned: bool = False
) -> AsyncGenerator[Batch]:
    """Yield everything valid that follows `after`, then what comes, until the turn's end.

    A turn that `is_new`, made by this very request, has no past in the database: it is not read there first.
    `with_abandoned` yields what became void as well, so that all readers get the same, whenever they come.

    Subscribes before it reads the past, so that nothing is missed; duplicates are dropped by position. An entry
    that does not follow the reader's position makes it catch up first: from the log, and from the database where
    the log has lost entries. An empty batch says that nothing came for a while: time for a keep-alive.
    """
    position = ReaderPosition(turn_id, after, with_abandoned=with_abandoned)
    statuses, now = loop_cache(), asyncio.get_running_loop().time
    quiet_checks = 0
    retry_at = 0.0  # a gap that could not be filled is not tried again for each announcement
    with ReaderBuffer(durable_limits.STATUS_CHECK_SECONDS) as buffer:
        async with event_log.watching(turn_id, buffer.put):
            status = None if is_new else await statuses.get(turn_id, since=now())
            position.correct(status)
            async for batch in position.catch_up(status):
                yield batch
            while not position.ended:
                entries = await buffer.get()
                if entries:
                    if fresh := position.accept(entries):
                        yield fresh
                    if position.ended or position.at >= entries[-1].at:
                        continue
                    if now() < retry_at:
                        continue
                    counters.count(counters.CounterBuffer.RESYNCS)
                if entries is None:
                    quiet_checks += 1
                    status = await statuses.get(
                        turn_id, since=now() - durable_limits.STATUS_CHECK_SECONDS / 2
                    )
                    if note := position.queue_note(status):
                        yield [note]
                        continue
                    if quiet_checks % QUIET_CHECKS_PER_READ and not position.lacks(status):
                        yield []
                        continue
                else:
                    status = await statuses.get(turn_id, since=now())
                found = False
                async for batch in position.catch_up(status):
                    found = True
                    yield batch
                has_gap = entries is not None and entries != [] and position.at < entries[-1].at
                if has_gap:
                    retry_at = now() + durable_limits.STATUS_CHECK_SECONDS
                if not found and (entries is None or has_gap):
                    yield []


async def read_compact(turn_id: uuid.UUID, *, is_new: bool = False) -> AsyncGenerator[Batch]:
    """Yield the committed part in a few chunks from `start` on, then live events, for AI SDK clients.

    Ends without `finish` when something that was yielded becomes void: such clients cannot remove text, and a
    resume replays only what is valid.
    """
    snapshot = replay.NOTHING if is_new else await in_thread(replay.snapshot, turn_id)
    shown = snapshot.at
    if snapshot.chunks:
        yield [LoggedEvent(snapshot.at, snapshot.at, body) for body in snapshot.chunks]
    if snapshot.ended:
        return
    async with aclosing(read(turn_id, after=snapshot.at, is_new=is_new)) as batches:
        async for batch in batches:
            kept: Batch = []
            for entry in batch:
                if protocol.is_reset(entry.body):
                    if entry.after < shown:
                        if kept:
                            yield kept
                        return
                    shown = entry.at
                    continue
                if not protocol.is_hint(entry.body):
                    shown = entry.at
                kept.append(entry)
            if kept or not batch:
                yield merged(kept) if len(kept) > MANY_ENTRIES else kept


def merged(batch: Batch) -> Batch:
    """Return the batch with adjacent deltas of one part joined, so that a late reader gets few chunks."""
    fewer: Batch = []
    for part, run in groupby(batch, key=lambda entry: protocol.part_of(entry.body)):
        for entries in split_by_size(run) if part else ([entry] for entry in run):
            joined = protocol.join([entry.body for entry in entries]) if len(entries) > 1 else entries[0].body
            fewer.append(LoggedEvent(entries[-1].at, entries[0].after, joined))
    return fewer


def split_by_size(entries: Iterable[LoggedEvent]) -> Iterator[Batch]:
    """Yield the entries in groups that are small enough to be sent as one delta."""
    group: Batch = []
    size = 0
    for entry in entries:
        if group and size + len(entry.body) > limits.MAX_DELTA_CHARACTERS:
            yield group
            group, size = [], 0
        group.append(entry)
        size += len(entry.body)
    if group:
        yield group


@dataclass
class ReaderPosition:
    """The position of one reader in a turn's events."""

    turn_id: uuid.UUID
    at: Position
    ended: bool = False
    queue_position: int = 0  # the one this reader was last sent
    shown: Position = START  # of the last entry that changed what this reader shows
    was_corrected: bool = False
    with_abandoned: bool = False

    def __post_init__(self) -> None:
        self.shown = self.at

    def queue_note(self, status: TurnStatus | None) -> LoggedEvent | None:
        """Return a transient event with the turn's position in the queue, if this reader does not know it yet."""
        if status is None or status.queue_position in (0, self.queue_position):
            return None
        self.queue_position = status.queue_position
        return LoggedEvent(self.at, self.at, protocol.Framed(QueuePosition(self.queue_position)).encode())

    def correct(self, status: TurnStatus | None) -> None:
        """Go back to the last commit from a position in an attempt the database does not know: it lost data."""
        if status is not None and self.at.attempt > status.attempt and not status.is_over:
            self.at = self.shown = status.stored
            self.was_corrected = True  # perhaps to the end itself, written since the status was read

    def lacks(self, status: TurnStatus | None) -> bool:
        """Return whether the database has something for this reader."""
        return status is not None and (status.is_over or status.stored > self.at)

    def accept(self, entries: Sequence[LoggedEvent], *, whole: bool = False) -> Batch:
        """Advance over entries in order and return the new ones, up to the first gap.

        A reader of abandoned events takes those of a new attempt only if nothing of the one before is missing: if
        they are `whole`, read with the pages that its claim has stored.
        """
        fresh = []
        for entry in entries:
            if entry.at <= self.at or self.ended:
                continue
            if entry.after > self.at or (not whole and self._may_lack_abandoned(entry)):
                break
            self.at = entry.at
            if not protocol.is_hint(entry.body):
                self.shown = entry.at
            self.ended = protocol.is_end(entry.body)
            fresh.append(entry)
        return fresh

    def _may_lack_abandoned(self, entry: LoggedEvent) -> bool:
        return self.with_abandoned and entry.at.attempt > max(self.at.attempt, 1)

    async def catch_up(self, status: TurnStatus | None) -> AsyncIterator[Batch]:
        """Yield what the log has and, if it has a gap or the turn is over, what the database has."""
        is_over = status is not None and status.is_over
        kind = "all" if self.with_abandoned else "valid"
        past = await self._past(("log", kind, self.at), self._from_log, is_over) or Past()
        if fresh := self.accept(past):
            yield fresh
        has_gap = bool(past) and self.at < past[-1].at
        if not self.ended and (has_gap or self.lacks(status)):
            load = partial(self._from_database, self.at)
            stored = await self._past(("stored", kind, self.at), load, is_over)
            if status is not None and is_over and stored and self._shows_void(stored[0]):
                self.ended = True
                yield await self._replay_all(status)
                return
            join = event_log.in_order if self.with_abandoned else event_log.join
            if fresh := self.accept(join(stored or (), past), whole=stored is not None):
                yield fresh
            if status is not None and is_over and stored is not None and not self.ended:
                if end := await self._final_events(status):
                    yield end
                self.ended = True

    async def _past(self, of: Any, load: Callable[[], Awaitable[Past | None]], is_over: bool) -> Past | None:
        """Load past events; those of a turn that is over no longer change, so its readers share them."""
        return await (_pasts.get((self.turn_id, of), load) if is_over else load())

    def _shows_void(self, entry: LoggedEvent) -> bool:
        """Return whether this reader shows text that an end written without a worker does not include."""
        unknown = entry.after < self.shown and self.shown.attempt < entry.at.attempt
        return unknown and not self.with_abandoned and not protocol.is_reset(entry.body)

    async def _replay_all(self, status: TurnStatus) -> Batch:
        """Return all of an ended turn again, for a reader that shows text the database does not have."""
        chunks = (await in_thread(replay.snapshot, self.turn_id)).chunks
        begins = next((n for n, chunk in enumerate(chunks) if protocol.is_step_start(chunk)), None)
        rest = chunks[begins:] if begins is not None else chunks[-1:]
        reset = protocol.Framed(AttemptStarted(status.attempt, 0)).encode()
        return [LoggedEvent(self.at, START, body) for body in [reset, *rest]]

    async def _final_events(self, status: TurnStatus) -> Batch:
        """Return the end for a reader whose position is not in what is left of the log."""
        if status.stored == START and status.attempt:
            return await self._from_rows(status)
        stored = await self._from_database(START)
        last = (stored or [])[-1:]
        if last and not protocol.is_end(last[0].body):
            return await self._from_rows(
                status
            )  # its log could not be closed: only its row says it has ended
        return last if self.was_corrected or self.at != status.stored else []

    async def _from_rows(self, status: TurnStatus) -> Batch:
        """Rebuild the events of a turn whose log was purged; a reader that had begun gets only the end."""
        chunks = (await in_thread(replay.snapshot, self.turn_id)).chunks
        attempt = status.attempt + self.with_abandoned  # above every number that such a reader has had
        at = [Position(attempt, number) for number in range(len(chunks) + 1)]
        entries = [LoggedEvent(at[n + 1], at[n], chunk) for n, chunk in enumerate(chunks)]
        return entries if self.at == START else [entry for entry in entries if protocol.closes(entry.body)]

    async def _from_log(self) -> Past:
        """Return the valid entries of the log; none while Redis is unavailable."""
        try:
            return Past(await event_log.read(self.turn_id, self.at, with_abandoned=self.with_abandoned))
        except (RedisError, OSError):
            return Past()

    async def _from_database(self, after: Position) -> Past | None:
        """Return stored entries; None while the database is unavailable."""
        try:
            load = partial(event_log.stored, self.turn_id, after, with_abandoned=self.with_abandoned)
            return Past(await in_thread(load))
        except (OperationalError, InterfaceError):
            return None


class ReaderBuffer:
    """A bounded buffer that also wakes its reader when nothing came for `quiet_seconds`.

    It may overflow, since the log has everything. One timer is set again only when it fires, so that a busy turn
    costs no timer per event.
    """

    def __init__(self, quiet_seconds: float) -> None:
        self._quiet_seconds = quiet_seconds
        self._unread: list[str] = []
        self._must_read = False
        self._quiet = False
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> ReaderBuffer:
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()
        self._timer = self._loop.call_later(self._quiet_seconds, self._tick)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def put(self, payload: str | None) -> None:
        """Add an announcement; a nudge, a lost connection or an overflow makes the reader read the log instead."""
        if not payload or len(self._unread) >= MAX_UNREAD:
            self._unread.clear()
            self._must_read = True
        elif not self._must_read:
            self._unread.append(payload)
        self._heard_at = self._loop.time()
        self._wake()

    async def get(self) -> list[LoggedEvent] | None:
        """Return the next entries in order; an empty list means: read the log; None: nothing came."""
        if not (self._unread or self._must_read or self._quiet):
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        unread, must_read, quiet = self._unread, self._must_read, self._quiet
        self._unread, self._must_read, self._quiet = [], False, False
        if must_read:
            return []
        if not unread:
            return None if quiet else []
        if len(unread) == 1:
            return list(parsed(unread[0]))
        return [entry for payload in unread for entry in parsed(payload)]

    def _tick(self) -> None:
        rest = self._heard_at + self._quiet_seconds - self._loop.time()
        if rest <= 0:
            self._quiet = True
            self._wake()
            rest = self._quiet_seconds
        self._timer = self._loop.call_later(rest, self._tick)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


@lru_cache(maxsize=256)
def parsed(payload: str) -> tuple[LoggedEvent, ...]:
    """Return the entries of an announcement, parsed once for all its readers."""
    return tuple(event_log.parse_news(payload))
