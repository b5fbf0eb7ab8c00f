"""The one way to read a turn: from any place, live or long over, log or database, without gap or repeat."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from django.db import InterfaceError, OperationalError

from chat import protocol, replay
from chat.delivery.inbox import Inbox
from chat.delivery.looks import Look, loop_looks
from chat.delivery.sharing import Shared
from chat.delivery.threads import in_thread
from chat.events import AttemptStarted, InLine
from durable import limits, log, tallies
from durable.events import START, Entry, Position, standing
from durable.hub import loop_hub
from durable.redis import RedisError

Batch = list[Entry]  # entries that came together, in order; an empty one is a sign of silence
MANY_ENTRIES = 20  # so many at once are a past that is caught up with, not the pace of an answer
QUIET_CHECKS_PER_READ = 5  # of the database's row, before the log is read again although nobody said so


class Past(list[Entry]):
    """What was said of a turn; a list that can be shared."""


_pasts: Shared[Any, Past | None] = Shared()


async def read(turn_id: uuid.UUID, *, after: Position = START) -> AsyncGenerator[Batch]:
    """Everything that follows `after` and stands, then what comes, until the turn's end.

    Subscribed before the past is read, so nothing falls between; doubles are dropped by place. An entry that
    does not join on to what the reader has is first joined: from the log, and from the database where the log
    has lost it. An empty batch says that nothing came for a while, and the connection deserves a sign of life.
    """
    place = Place(turn_id, after)
    looks, now = loop_looks(), asyncio.get_running_loop().time
    quiet_checks = 0
    retry_at = 0.0  # a hole that could not be closed is not looked at for each piece of news
    with Inbox(limits.STATUS_CHECK_SECONDS) as inbox:
        async with loop_hub().watching(log.stream_key(turn_id), inbox.put):
            look = await looks.at(turn_id, since=now())
            place.correct(look)
            async for batch in place.catch_up(look):
                yield batch
            while not place.ended:
                news = await inbox.get()
                if news:
                    if fresh := place.accept(news):
                        yield fresh
                    if place.ended or place.at >= news[-1].at:
                        continue
                    if now() < retry_at:
                        continue
                    tallies.count(tallies.Tally.RESYNCS)
                if news is None:
                    quiet_checks += 1
                    look = await looks.at(turn_id, since=now() - limits.STATUS_CHECK_SECONDS / 2)
                    if note := place.in_line(look):
                        yield [note]
                        continue
                    if quiet_checks % QUIET_CHECKS_PER_READ and not place.lacks(look):
                        yield []
                        continue
                else:
                    look = await looks.at(turn_id, since=now())
                found = False
                async for batch in place.catch_up(look):
                    found = True
                    yield batch
                is_blind = news is not None and news != [] and place.at < news[-1].at
                if is_blind:
                    retry_at = now() + limits.STATUS_CHECK_SECONDS
                if not found and (news is None or is_blind):
                    yield []


async def read_compact(turn_id: uuid.UUID) -> AsyncGenerator[Batch]:
    """For AI SDK clients: what stands in a few chunks from `start` on, then live.

    When something that was shown is void, the reading ends without `finish`: such clients cannot take words
    back, and a resume replays only what stands.
    """
    snapshot = await in_thread(replay.snapshot, turn_id)
    shown = snapshot.at
    if snapshot.chunks:
        yield [Entry(snapshot.at, snapshot.at, body) for body in snapshot.chunks]
    if snapshot.ended:
        return
    async with aclosing(read(turn_id, after=snapshot.at)) as batches:
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
    """The same with neighbouring deltas of one part as one: a reader that comes late gets few chunks."""
    fewer: Batch = []
    for part, run in groupby(batch, key=lambda entry: protocol.part_of(entry.body)):
        for entries in handfuls(run) if part else ([entry] for entry in run):
            joined = protocol.join([entry.body for entry in entries]) if len(entries) > 1 else entries[0].body
            fewer.append(Entry(entries[-1].at, entries[0].after, joined))
    return fewer


def handfuls(entries: Iterable[Entry]) -> Iterator[Batch]:
    """Entries by as many as may be sent as one."""
    hand: Batch = []
    size = 0
    for entry in entries:
        if hand and size + len(entry.body) > limits.MAX_DELTA_CHARACTERS:
            yield hand
            hand, size = [], 0
        hand.append(entry)
        size += len(entry.body)
    if hand:
        yield hand


@dataclass
class Place:
    """How far one reader has come."""

    turn_id: uuid.UUID
    at: Position
    ended: bool = False
    told_position: int = 0
    shown: Position = START  # the last entry that changed what this reader shows
    was_corrected: bool = False

    def __post_init__(self) -> None:
        self.shown = self.at

    def in_line(self, look: Look | None) -> Entry | None:
        """Where the turn stands in its queue, when this reader does not know it yet; moves no reader's place."""
        if look is None or not look.position or look.position == self.told_position:
            return None
        self.told_position = look.position
        return Entry(self.at, self.at, protocol.Framed(InLine(look.position)).encode())

    def correct(self, look: Look | None) -> None:
        """A place in an attempt that never was (the data it came from is lost) leads back to the last commit."""
        if look is not None and self.at.attempt > look.attempt and not look.is_over:
            self.at = self.shown = look.stored
            self.was_corrected = True  # to a place that may be the end itself, written since the look began

    def lacks(self, look: Look | None) -> bool:
        """Whether the database has something for this reader."""
        return look is not None and (look.is_over or look.stored > self.at)

    def accept(self, entries: Sequence[Entry]) -> Batch:
        """Of entries in order, those that are new, up to the first that does not join on."""
        fresh = []
        for entry in entries:
            if entry.at <= self.at or self.ended:
                continue
            if entry.after > self.at:
                break
            self.at = entry.at
            if not protocol.is_hint(entry.body):
                self.shown = entry.at
            self.ended = protocol.is_end(entry.body)
            fresh.append(entry)
        return fresh

    async def catch_up(self, look: Look | None) -> AsyncIterator[Batch]:
        """What the log has and, where it does not join on or the turn is over, what the database has."""
        is_over = look is not None and look.is_over
        past = await self._past(("log", self.at), self._from_log, is_over) or Past()
        if fresh := self.accept(past):
            yield fresh
        has_hole = bool(past) and self.at < past[-1].at
        if not self.ended and (has_hole or self.lacks(look)):
            stored = await self._past(("stored", self.at), partial(self._from_database, self.at), is_over)
            if look is not None and is_over and stored and self._shows_void(stored[0]):
                self.ended = True
                yield await self._restated(look)
                return
            if fresh := self.accept(log.join(stored or (), past)):
                yield fresh
            if look is not None and is_over and stored is not None and not self.ended:
                if end := await self._last_word(look):
                    yield end
                self.ended = True

    async def _past(self, of: Any, load: Callable[[], Awaitable[Past | None]], is_over: bool) -> Past | None:
        """What a turn that is over said does not change any more: its readers hold it together."""
        return await (_pasts.get((self.turn_id, of), load) if is_over else load())

    def _shows_void(self, entry: Entry) -> bool:
        """Whether this reader shows something that the entry, of an end no attempt wrote, does not know of."""
        unknown = entry.after < self.shown and self.shown.attempt < entry.at.attempt
        return unknown and not protocol.is_reset(entry.body)

    async def _restated(self, look: Look) -> Batch:
        """All of an ended turn anew, for a reader that was shown words the database does not have."""
        chunks = (await in_thread(replay.snapshot, self.turn_id)).chunks
        begins = next((n for n, chunk in enumerate(chunks) if protocol.is_step_start(chunk)), None)
        said = chunks[begins:] if begins is not None else chunks[-1:]
        reset = protocol.Framed(AttemptStarted(look.attempt, 0)).encode()
        return [Entry(self.at, START, body) for body in [reset, *said]]

    async def _last_word(self, look: Look) -> Batch:
        """The end once more, for a reader whose place is not in what is left of the log."""
        if look.stored == START and look.attempt:
            return await self._from_rows(look)
        stored = await self._from_database(START)
        last = (stored or [])[-1:]
        if last and not protocol.is_end(last[0].body):
            return await self._from_rows(look)  # it could not be closed: its row alone says that it has ended
        return last if self.was_corrected or self.at != look.stored else []

    async def _from_rows(self, look: Look) -> Batch:
        """A turn so old that its events were thrown away: what its rows say; only the end for who has begun it."""
        chunks = (await in_thread(replay.snapshot, self.turn_id)).chunks
        places = [Position(look.attempt, number) for number in range(len(chunks) + 1)]
        entries = [Entry(places[n + 1], places[n], chunk) for n, chunk in enumerate(chunks)]
        return entries if self.at == START else [entry for entry in entries if protocol.closes(entry.body)]

    async def _from_log(self) -> Past:
        """What stands of it; nothing while Redis is away."""
        entries: Batch = []
        at = self.at
        try:
            while page := await log.read_page(self.turn_id, at):
                entries += page
                at = page[-1].at
                if len(page) < limits.LOG_PAGE:
                    break
        except (RedisError, OSError):
            return Past()
        return Past(standing(entries))

    async def _from_database(self, after: Position) -> Past | None:
        """None while the database is away."""
        try:
            return Past(await in_thread(log.stored, self.turn_id, after))
        except (OperationalError, InterfaceError):
            return None
