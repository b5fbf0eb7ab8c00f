"""A job's event log: a Redis stream in front of the pages in the database."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from durable import limits
from durable.events import START, Entry, Position, pack, standing, unpack
from durable.models import EventPage
from durable.redis import RedisError, answer, async_client, client, key


def stream_key(job_id: uuid.UUID) -> str:
    """The Redis stream of a job's events, and the name of the channel that announces them."""
    return key("events", job_id)


def add(name: str, *, create: bool) -> tuple[str | int, ...]:
    """The words of an XADD; without `create` a log that vanished answers nil instead of starting with a hole."""
    cap = ("MAXLEN", "~", limits.MAX_LOG_ENTRIES)
    return ("XADD", name, *cap) if create else ("XADD", name, "NOMKSTREAM", *cap)


def top(job_id: uuid.UUID) -> Position | None:
    """The newest place in the log; None when there is no log."""
    rows: Any = client().xrevrange(stream_key(job_id), count=1)
    return Position.parse(rows[0][0]) if rows else None


def newest_attempt(job_id: uuid.UUID) -> int:
    """The newest attempt that wrote to the log or fenced it; 0 where there is no log, or no Redis to ask."""
    try:
        facts: Any = client().xinfo_stream(stream_key(job_id))
    except RedisError:
        return 0
    return Position.parse(facts["last-generated-id"]).attempt


def fence(job_id: uuid.UUID, attempt: int) -> None:
    """Have Redis refuse whatever an earlier attempt still sends; without Redis nothing reaches the log anyway.

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
    """Start the ended job's time to live; a failure is nothing, the key has a longer one already."""
    try:
        client().expire(stream_key(job_id), settings.COPILOT_STREAM_TTL_SECONDS)
    except RedisError:
        return


def nudge(job_id: uuid.UUID) -> None:
    """Tell everyone who watches a job to look at its row; a failure is nothing, they look by themselves in time."""
    try:
        client().publish(stream_key(job_id), "")
    except RedisError:
        return


def forget(job_ids: Sequence[uuid.UUID]) -> None:
    """Delete the logs of jobs whose rows go; in the transaction that deletes them."""
    if not job_ids:
        return
    EventPage.objects.filter(job_id__in=job_ids).delete()
    try:
        client().delete(*(stream_key(job_id) for job_id in job_ids))
    except RedisError:
        return  # it has a time to live


def forget_all() -> int:
    """Delete the logs of all jobs from Redis: what the database says now is older than they are. How many."""
    names = list(client().scan_iter(match=key("events", "*"), count=limits.LOG_PAGE))
    for begin in range(0, len(names), limits.LOG_PAGE):
        client().unlink(*names[begin : begin + limits.LOG_PAGE])
    return len(names)


def tail(job_id: uuid.UUID, after: Position) -> list[Entry]:
    """Everything Redis has after a place; nothing when it is away."""
    try:
        rows: Any = client().xrange(stream_key(job_id), min=f"({after}")
    except RedisError:
        return []
    return [_entry(row) for row in rows]


async def read_page(job_id: uuid.UUID, after: Position) -> list[Entry]:
    """The next entries in Redis after a place, at most a page of them."""
    page = async_client().xrange(stream_key(job_id), min=f"({after}", count=limits.LOG_PAGE)
    rows: Any = await answer(page)
    return [_entry(row) for row in rows]


def _entry(row: Any) -> Entry:
    at, fields = row
    after, body = fields["e"].split(" ", 1)
    return Entry(Position.parse(at), Position.parse(after), body)


def parse_news(payload: str) -> list[Entry]:
    """The entries of one announcement; none for a nudge."""
    return [Entry.read(line) for line in payload.split("\n")] if payload else []


# --- pages in the database ----------------------------------------------------------------------


def store(job_id: uuid.UUID, entries: Sequence[Entry]) -> None:
    """Keep entries with the commit they belong to. Once: the place of the first entry is the key."""
    if entries:
        EventPage.objects.bulk_create([page_of(job_id, entries)], ignore_conflicts=True)


def store_open(job_id: uuid.UUID, entries: Sequence[Entry]) -> None:
    """Keep entries that belong to no commit yet; the next commit, or the next attempt, drops them.

    Again with the same first entry: in the place of what may have been stored before.
    """
    first = entries[0].at
    open_pages = EventPage.objects.filter(job_id=job_id, attempt=first.attempt, open=True)
    open_pages.filter(first_seq__gte=first.seq).delete()
    EventPage.objects.bulk_create([page_of(job_id, entries, is_open=True)])


def page_of(job_id: uuid.UUID, entries: Sequence[Entry], *, is_open: bool = False) -> EventPage:
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
    """Forget what was stored without a commit; in the transaction that commits it or begins anew."""
    EventPage.objects.filter(job_id=job_id, open=True).delete()


def uncommitted(job_id: uuid.UUID, after: Position) -> list[Entry]:
    """Return what stands after the last commit: from open pages, and from Redis where it answers."""
    return join(stored(job_id, after), tail(job_id, after))


def join(*parts: Sequence[Entry]) -> list[Entry]:
    """Return the entries of all parts that stand, in order and each once."""
    found = {entry.at: entry for part in parts for entry in part}
    return standing([found[at] for at in sorted(found)])


def stored(job_id: uuid.UUID, after: Position = START) -> list[Entry]:
    """The entries the database holds after a place, in order; those of open pages may be void."""
    pages = EventPage.objects.filter(job_id=job_id, attempt__gte=after.attempt).order_by(
        "attempt", "first_seq"
    )
    pages = pages.exclude(attempt=after.attempt, last_seq__lte=after.seq)
    return [entry for page in pages for entry in unpack(bytes(page.data)) if entry.at > after]


def last_stored(job_id: uuid.UUID) -> Position:
    """The newest place that is committed."""
    row = (
        EventPage.objects.filter(job_id=job_id, open=False)
        .order_by("-attempt", "-last_seq")
        .values_list("attempt", "last_seq")
        .first()
    )
    return Position(*row) if row else START
