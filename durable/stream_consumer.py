"""A consumer of a Redis stream group: no entry is lost, and entries that keep failing are parked."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    connection,
    transaction,
)
from django.db.models import F

from durable import crashpoints, limits, storable
from durable.backoff import Backoff
from durable.database import in_transaction
from durable.liveness import LivenessSignal
from durable.models import ParkedEntry
from durable.redis import RedisError, ResponseError, bytes_client

logger = logging.getLogger(__name__)

Fields = dict[str, str]
Handle = Callable[[Fields], None]
MAX_ERROR_CHARACTERS = 2_000


class StopFlag(Protocol):
    """Tells when to stop; threading.Event is one."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float, /) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class StreamEntry:
    """One entry; `fields` is None if it was deleted while pending."""

    id: str
    fields: Fields | None
    again: bool = False  # pending from a dead consumer, or failed here before


@dataclass(kw_only=True)
class Consumer:
    """One member of a consumer group; `handle` must be idempotent, because an entry may be delivered again.

    An entry is acknowledged after `handle` returns. If `handle` raises, the entry is retried with growing pauses and
    parked in `ParkedEntry` after `tries`, so that those behind it continue. Database outages do not count as tries.
    """

    stream: str
    group: str
    handle: Handle
    claim_idle_seconds: float = limits.CONSUMER_CLAIM_SECONDS
    tries: int = limits.CONSUMER_TRIES
    name: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}")
    _ready: bool = False
    _claim_at: float = 0.0
    _trim_at: float = 0.0
    _retry_at: float | None = None
    _failing: set[str] = field(default_factory=set)  # failed here, to be retried

    def __post_init__(self) -> None:
        self._life = LivenessSignal(self.group)

    def run(self, stop: StopFlag) -> None:
        """Read until told to stop, retrying after any error."""
        backoff = Backoff(limits.CONSUMER_FIRST_PAUSE_SECONDS, limits.CONSUMER_LONGEST_PAUSE_SECONDS)
        while not stop.is_set():
            self._life.give()
            try:
                self.read_once()
                backoff.reset()
                continue
            except (RedisError, OSError) as error:
                self._ready = False  # it may come back empty
                logger.warning("The stream cannot be read, trying again: %s", error)
            except (DatabaseError, InterfaceError) as error:
                logger.warning("The database does not answer, trying again: %s", error)
            except Exception:  # the outermost loop of its process must not end silently
                logger.exception("The consumer failed and continues")
            connection.close()
            self._retry_at = time.monotonic()
            stop.wait(backoff.next())

    def read_once(self, *, block_seconds: float = limits.CONSUMER_BLOCK_SECONDS) -> int:
        """Handle one batch: entries of dead consumers, earlier failures, else new ones; return how many."""
        self._make_ready()
        count = 0
        for entry in self._batch(block_seconds):
            self._life.give()
            self._take(entry)
            count += 1
        self._trim()
        return count

    def _trim(self) -> None:
        """Remove from time to time what every group has acknowledged."""
        now = time.monotonic()
        if now >= self._trim_at:
            self._trim_at = now + limits.CONSUMER_TRIM_SECONDS
            trim_stream(self.stream, self.group)

    # --- reading ----------------------------------------------------------------------------------

    def _make_ready(self) -> None:
        """Create the stream and the group if they do not exist, from the stream's beginning."""
        if self._ready:
            return
        try:
            bytes_client().xgroup_create(self.stream, self.group, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._forget_dead_consumers()
        self._ready = True
        self._claim_at = 0.0

    def _forget_dead_consumers(self) -> None:
        for row in bytes_client().xinfo_consumers(self.stream, self.group):
            long_gone = row["idle"] > limits.CONSUMER_FORGET_SECONDS * 1000
            if long_gone and row["pending"] == 0:
                bytes_client().xgroup_delconsumer(self.stream, self.group, row["name"])

    def _batch(self, block_seconds: float) -> list[StreamEntry]:
        now = time.monotonic()
        if now >= self._claim_at:
            claimed = self._claim()
            if claimed:
                return claimed  # there may be more
            self._claim_at = now + min(self.claim_idle_seconds / 4, limits.CONSUMER_LONGEST_PAUSE_SECONDS)
        if self._retry_at is not None and now >= self._retry_at:
            self._retry_at = None
            if mine := self._read("0"):
                return mine
        wait = block_seconds
        if self._retry_at is not None:
            wait = max(0.001, min(wait, self._retry_at - now))
        return self._read(">", block_seconds=wait)

    def _claim(self) -> list[StreamEntry]:
        """Claim entries whose consumer has not acknowledged them for so long that it must be dead."""
        answer = bytes_client().xautoclaim(
            self.stream,
            self.group,
            self.name,
            min_idle_time=int(self.claim_idle_seconds * 1000),
            start_id="0-0",
            count=limits.CONSUMER_BATCH,
        )
        claimed = list(entries_of(answer[1], again=True))  # Redis 7 adds a third part
        for entry in claimed:
            if entry.fields is not None and entry.id not in self._failing:
                self._count_try(entry, "A consumer died or hung while it held this entry.")
        return claimed

    def _read(self, after: str, *, block_seconds: float | None = None) -> list[StreamEntry]:
        answer: Any = bytes_client().xreadgroup(
            self.group,
            self.name,
            {self.stream: after},
            count=limits.CONSUMER_BATCH,
            block=None if block_seconds is None else max(1, int(block_seconds * 1000)),
        )
        found = [entry for _, rows in answer or () for entry in entries_of(rows, again=after != ">")]
        if found:
            crashpoints.reached("consumer_read")
        return found

    # --- one entry --------------------------------------------------------------------------------

    def _take(self, entry: StreamEntry) -> None:
        close_old_connections()
        if entry.fields is not None:
            try:
                self.handle(entry.fields)
            except (OperationalError, InterfaceError):
                raise  # not the entry's fault; the rest of the batch is read again
            except Exception as error:  # whatever is wrong with it, the others must continue
                logger.warning(
                    "An entry of %s could not be handled",
                    self.stream,
                    exc_info=error,
                    extra={"entry": entry.id},
                )
                if not self._failed(entry, error):
                    return
            else:
                crashpoints.reached("consumer_handled")
                if entry.again:
                    self._rows(entry).filter(state=ParkedEntry.State.RETRYING).delete()
        bytes_client().xack(self.stream, self.group, entry.id)
        self._failing.discard(entry.id)

    def _failed(self, entry: StreamEntry, error: Exception) -> bool:
        """Count the try; return True if it was the last and the entry is parked."""
        tried = self._count_try(entry, f"{type(error).__name__}: {error}")
        if tried >= self.tries:
            self._rows(entry).update(state=ParkedEntry.State.PARKED)
            logger.error(
                "An entry of %s was parked after %d tries", self.stream, tried, extra={"entry": entry.id}
            )
            return True
        self._failing.add(entry.id)
        pause = limits.CONSUMER_FIRST_PAUSE_SECONDS * 2 ** (tried - 1)
        self._retry_at = time.monotonic() + min(pause, limits.CONSUMER_LONGEST_PAUSE_SECONDS)
        return False

    @in_transaction
    def _count_try(self, entry: StreamEntry, error: str) -> int:
        self._rows(entry).get_or_create(
            stream=self.stream,
            group=self.group,
            entry_id=entry.id,
            defaults={"fields": entry.fields, "tries": 0},
        )
        self._rows(entry).update(tries=F("tries") + 1, error=storable.text(error, most=MAX_ERROR_CHARACTERS))
        return int(self._rows(entry).values_list("tries", flat=True).get())

    def _rows(self, entry: StreamEntry) -> Any:
        return ParkedEntry.objects.filter(stream=self.stream, group=self.group, entry_id=entry.id)


def entries_of(rows: Any, *, again: bool) -> Iterator[StreamEntry]:
    """Read entries from the client's reply; a deleted one has no fields, or on old servers not even an id."""
    for entry_id, fields in rows or ():
        if entry_id is None:
            continue
        yield StreamEntry(id=text(entry_id), fields=decoded(fields) if fields else None, again=again)


def decoded(fields: dict[bytes, bytes]) -> Fields:
    return {text(name): text(value) for name, value in fields.items()}


def text(raw: bytes | str) -> str:
    """Return storable text for any bytes."""
    return storable.text(raw if isinstance(raw, str) else raw.decode("utf-8", "replace"))


def replay(parked: ParkedEntry) -> bool:
    """Put a parked entry back at the end of its stream; return False if that was done already."""
    with transaction.atomic():
        mine = ParkedEntry.objects.filter(pk=parked.pk, state=ParkedEntry.State.PARKED)
        if not mine.update(state=ParkedEntry.State.REPLAYED):
            return False
        bytes_client().xadd(parked.stream, parked.fields)  # a failure rolls the mark back
    return True


EntryId = tuple[int, int]  # milliseconds and a sequence number, as Redis orders them


def trim_stream(stream: str, group: str) -> int:
    """Remove what every group has acknowledged; return the number of removed entries.

    The slowest group decides. An abandoned group would let the stream grow, so what `group` has acknowledged is removed
    after CONSUMER_KEEP_SECONDS in any case. What `group` itself has not acknowledged always stays.
    """
    needed = {text(row["name"]): first_needed(stream, row) for row in bytes_client().xinfo_groups(stream)}
    if group not in needed:
        return 0
    first = max(min(needed.values()), min(needed[group], old_enough()))
    removed: int = bytes_client().xtrim(stream, minid=f"{first[0]}-{first[1]}", approximate=False)
    return removed


def first_needed(stream: str, group: dict[str, Any]) -> EntryId:
    """Return the oldest entry the group has not acknowledged, or the position of its next one."""
    if group["pending"]:
        oldest = bytes_client().xpending(stream, group["name"])["min"]
        if oldest is not None:  # acknowledged since, otherwise
            return parse(oldest)
    milliseconds, number = parse(group["last-delivered-id"])
    return milliseconds, number + 1


def old_enough() -> EntryId:
    seconds, microseconds = bytes_client().time()
    return int((seconds - limits.CONSUMER_KEEP_SECONDS) * 1000 + microseconds // 1000), 0


def parse(entry_id: bytes | str) -> EntryId:
    milliseconds, _, number = text(entry_id).partition("-")
    return int(milliseconds), int(number)
