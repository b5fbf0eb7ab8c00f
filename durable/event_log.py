"""A job's event log: events at their positions, in a Redis stream in front of the pages in the database."""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from django.conf import settings

from durable import limits, plain_sql
from durable.hub import News, loop_hub
from durable.models import EventPage
from durable.redis import RedisError, answer, async_client, client, key


class Position(NamedTuple):
    """The position of an event: attempt first, so that a stale attempt sorts before its successor."""

    attempt: int
    seq: int

    def __str__(self) -> str:
        return f"{self.attempt}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """Read `attempt-seq`; raises ValueError on anything else."""
        attempt, dash, seq = text.partition("-")
        if not (dash and attempt.isascii() and attempt.isdecimal() and seq.isascii() and seq.isdecimal()):
            raise ValueError(f"{text!r} is not a position. It looks like 1-42, as the id of an event.")
        if len(attempt) > 9 or len(seq) > 12:
            raise ValueError(f"{text[:40]!r} is not a position of this log.")
        return cls(int(attempt), int(seq))


START = Position(0, 0)


class Event(Protocol):
    """An event of a job; chat defines a closed union of them."""

    def encode(self) -> str:
        """Return the event as one line of JSON."""
        ...

    def merge(self, later: Event) -> Event | None:
        """Return this event merged with a later one, or None if the two must stay apart."""
        ...


class LoggedEvent(NamedTuple):
    """One event at its position.

    `after` is the last valid entry before it. A reader that has seen `after` has missed nothing valid; whatever lies
    between the two is void (an aborted try) or transient.
    """

    at: Position
    after: Position
    body: str

    def line(self) -> str:
        return f"{self.at} {self.after} {self.body}"

    @classmethod
    def read(cls, line: str) -> LoggedEvent:
        at, after, body = line.split(" ", 2)
        return cls(Position.parse(at), Position.parse(after), body)


def pack(entries: Iterable[LoggedEvent]) -> bytes:
    """Encode entries as the bytes of an EventPage."""
    return zlib.compress("\n".join(entry.line() for entry in entries).encode(), 1)


def unpack(data: bytes) -> list[LoggedEvent]:
    text = zlib.decompress(data).decode()
    return [LoggedEvent.read(line) for line in text.split("\n")] if text else []


def standing(entries: Sequence[LoggedEvent]) -> list[LoggedEvent]:
    """Drop the entries that later ones have voided, so that an aborted try never shows."""
    kept: list[LoggedEvent] = []
    for entry in entries:
        while kept and kept[-1].at > entry.after:
            kept.pop()
        kept.append(entry)
    return kept


_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def encode(chunk: object) -> str:
    """Return compact JSON on one line."""
    return _encode(chunk)


def one_line(body: str) -> str:
    """Return JSON that every transport can carry: no line breaks, no lone surrogates."""
    if "\n" in body:
        body = body.replace("\n", " ")
    if body.isascii():
        return body
    try:
        body.encode()
    except UnicodeEncodeError:
        return body.encode(errors="backslashreplace").decode()  # which is how JSON escapes it, too
    return body


def stream_key(job_id: uuid.UUID) -> str:
    """Return the name of a job's Redis stream, which is also the channel that announces its events."""
    return key("events", job_id)


def add(name: str, *, create: bool) -> tuple[str | int, ...]:
    """Return an XADD command; without `create` a vanished log answers nil instead of starting with a gap."""
    cap = ("MAXLEN", "~", limits.MAX_LOG_ENTRIES)
    return ("XADD", name, *cap) if create else ("XADD", name, "NOMKSTREAM", *cap)


def top(job_id: uuid.UUID) -> Position | None:
    """Return the newest position in the log; None if there is no log."""
    rows: Any = client().xrevrange(stream_key(job_id), count=1)
    return Position.parse(rows[0][0]) if rows else None


def newest_attempt(job_id: uuid.UUID) -> int:
    """Return the newest attempt that wrote to the log or fenced it; 0 without a log or without Redis."""
    try:
        facts: Any = client().xinfo_stream(stream_key(job_id))
    except RedisError:
        return 0
    return Position.parse(facts["last-generated-id"]).attempt


def fence(job_id: uuid.UUID, attempt: int) -> None:
    """Make Redis refuse whatever an earlier attempt still sends.

    An entry of the new attempt is added and deleted again: its id stays the stream's newest, and no reader sees it.
    """
    name, place = stream_key(job_id), f"{attempt}-0"
    try:
        with client().pipeline(transaction=True) as together:
            together.xadd(name, {"e": "fence"}, id=place)
            together.xdel(name, place)
            together.expire(name, settings.COPILOT_STREAM_TTL_SECONDS)
            together.execute()
    except RedisError:
        return


def expire_soon(job_id: uuid.UUID) -> None:
    """Shorten the time to live of an ended job's log; failures are ignored, the key expires anyway."""
    try:
        client().expire(stream_key(job_id), settings.COPILOT_STREAM_TTL_SECONDS)
    except RedisError:
        return


def nudge(job_id: uuid.UUID) -> None:
    """Tell everyone who waits for a job to check its row; failures are ignored, they check periodically."""
    try:
        client().publish(stream_key(job_id), "")
    except RedisError:
        return


def forget(job_ids: Sequence[uuid.UUID]) -> None:
    """Delete the logs of jobs that are being deleted. Call it in the transaction that deletes the rows."""
    if not job_ids:
        return
    EventPage.objects.filter(job_id__in=job_ids).delete()
    try:
        client().delete(*(stream_key(job_id) for job_id in job_ids))
    except RedisError:
        return  # it has a time to live


def forget_all() -> int:
    """Delete the logs of all jobs from Redis, after a restore of an older database; return how many."""
    names = list(client().scan_iter(match=key("events", "*"), count=limits.LOG_PAGE))
    for begin in range(0, len(names), limits.LOG_PAGE):
        client().unlink(*names[begin : begin + limits.LOG_PAGE])
    return len(names)


def tail(job_id: uuid.UUID, after: Position) -> list[LoggedEvent]:
    """Return everything Redis has after a position; nothing while it is down."""
    try:
        rows: Any = client().xrange(stream_key(job_id), min=f"({after}")
    except RedisError:
        return []
    return list(_entries(rows))


def watching(job_id: uuid.UUID, news: News) -> AbstractAsyncContextManager[None]:
    """Receive the announcements of a job's events inside the block; `parse_news` reads them."""
    return loop_hub().watching(stream_key(job_id), news)


async def read(job_id: uuid.UUID, after: Position, *, with_abandoned: bool = False) -> list[LoggedEvent]:
    """Return the valid entries in Redis after a position; raises RedisError or OSError while it is down."""
    entries: list[LoggedEvent] = []
    is_full = True
    while is_full:
        page = async_client().xrange(stream_key(job_id), min=f"({after}", count=limits.LOG_PAGE)
        rows: Any = await answer(page)
        entries += _entries(rows)
        is_full = len(rows) == limits.LOG_PAGE
        after = entries[-1].at if rows else after
    return entries if with_abandoned else standing(entries)


def _entries(rows: Iterable[Any]) -> Iterator[LoggedEvent]:
    """Yield the rows of a stream as entries; nearly all follow the one before, whose position is not parsed again."""
    last, place = "", START
    for at, fields in rows:
        after, body = fields["e"].split(" ", 1)
        follows = place if after == last else Position.parse(after)
        last, place = at, Position.parse(at)
        yield LoggedEvent(place, follows, body)


def parse_news(payload: str) -> list[LoggedEvent]:
    """Return the entries of one announcement; none for a nudge."""
    return [LoggedEvent.read(line) for line in payload.split("\n")] if payload else []


# --- pages in the database ----------------------------------------------------------------------


def store(job_id: uuid.UUID, entries: Sequence[LoggedEvent]) -> None:
    """Store entries with the commit they belong to. Idempotent: the first entry's position is the key."""
    if entries:
        plain_sql.insert([page_of(job_id, entries)], on_conflict="DO NOTHING")


def store_open(job_id: uuid.UUID, entries: Sequence[LoggedEvent]) -> None:
    """Store entries that belong to no commit yet; the next commit or attempt drops them.

    Storing again with the same first entry replaces the page.
    """
    first = entries[0].at
    open_pages = EventPage.objects.filter(job_id=job_id, attempt=first.attempt, open=True)
    open_pages.filter(first_seq__gte=first.seq).delete()
    EventPage.objects.bulk_create([page_of(job_id, entries, is_open=True)])


def store_abandoned(job_id: uuid.UUID, entries: Sequence[LoggedEvent]) -> None:
    """Store void entries that readers have seen, with the commit or claim that makes them void. Idempotent."""
    for _, of_attempt in groupby(entries, key=lambda entry: entry.at.attempt):
        page = page_of(job_id, list(of_attempt))
        page.abandoned = True
        plain_sql.insert([page], on_conflict="DO NOTHING")


def left_open(job_id: uuid.UUID, after: Position) -> list[LoggedEvent]:
    """Return what was shown after the last commit and is in no page that lasts, void or not."""
    kept = {entry.at for entry in stored(job_id, after, with_abandoned=True, with_open=False)}
    shown = in_order(stored(job_id, after), tail(job_id, after))
    return [entry for entry in shown if entry.at not in kept]


def page_of(job_id: uuid.UUID, entries: Sequence[LoggedEvent], *, is_open: bool = False) -> EventPage:
    first, last = entries[0].at, entries[-1].at
    return EventPage(
        job_id=job_id,
        attempt=first.attempt,
        first_seq=first.seq,
        last_seq=last.seq,
        data=pack(entries),
        open=is_open,
    )


def drop_open(job_id: uuid.UUID) -> None:
    """Delete the open pages. Call it in the transaction that commits the events or starts over."""
    EventPage.objects.filter(job_id=job_id, open=True).delete()


def uncommitted(job_id: uuid.UUID, after: Position) -> list[LoggedEvent]:
    """Return the valid entries after the last commit: from open pages, and from Redis if it answers."""
    return join(stored(job_id, after), tail(job_id, after))


def join(*parts: Sequence[LoggedEvent]) -> list[LoggedEvent]:
    """Return the valid entries of all parts, in order and without duplicates."""
    return standing(in_order(*parts))


def in_order(*parts: Sequence[LoggedEvent]) -> list[LoggedEvent]:
    """Return the entries of all parts, void or not, in order and without duplicates."""
    found = {entry.at: entry for part in parts for entry in part}
    return [found[at] for at in sorted(found)]


def stored(
    job_id: uuid.UUID, after: Position = START, *, with_abandoned: bool = False, with_open: bool = True
) -> list[LoggedEvent]:
    """Return the stored entries after a position, in order; those of open pages may be void."""
    pages = EventPage.objects.filter(job_id=job_id, attempt__gte=after.attempt).order_by(
        "attempt", "first_seq"
    )
    pages = pages.exclude(attempt=after.attempt, last_seq__lte=after.seq)
    if not with_open:
        pages = pages.filter(open=False)
    found = [
        entry
        for page in pages
        if with_abandoned or not page.abandoned
        for entry in unpack(bytes(page.data))
        if entry.at > after
    ]
    return in_order(found) if with_abandoned else found


def last_stored(job_id: uuid.UUID) -> Position:
    """Return the newest committed position."""
    return next((Position(*row) for row in _newest_page(job_id)), START)


_newest_page: plain_sql.PreparedSelect[Any] = plain_sql.PreparedSelect(
    lambda job_id: (
        EventPage.objects.filter(job_id=job_id, open=False, abandoned=False)
        .order_by("-attempt", "-last_seq")
        .values_list("attempt", "last_seq")[:1]
    ),
    uuid.UUID(int=0),
)
