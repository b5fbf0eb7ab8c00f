"""Reads that concurrent readers of a turn share: its past events, and the status of its row."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from django.db import InterfaceError, OperationalError

from chat import turns
from chat.models import Turn
from chat.threads import in_thread
from durable import event_log, limits
from durable.event_log import Position

logger = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SharedReads(Generic[K, V]):
    """Cache of immutable values, kept while a reader holds them: many readers of one long answer cost as one."""

    def __init__(self) -> None:
        self._held: WeakValueDictionary[tuple[int, K], Any] = WeakValueDictionary()
        self._locks: WeakValueDictionary[tuple[int, K], asyncio.Lock] = WeakValueDictionary()

    async def get(self, key: K, load: Callable[[], Awaitable[V]]) -> V:
        """Return the value another reader holds, else load it. Concurrent calls for a key load once."""
        loop_key = (id(asyncio.get_running_loop()), key)  # a lock belongs to one loop
        lock = self._locks.setdefault(loop_key, asyncio.Lock())
        async with lock:
            value: V | None = self._held.get(loop_key)
            if value is None:
                value = await load()
                if value is not None:
                    self._held[loop_key] = value
            return value


@dataclass(frozen=True, kw_only=True)
class TurnStatus:
    """A turn's attempt, the position of its newest stored event, and whether nothing more will come.

    `queue_position` is 1 for the next of its owner's queued turns, 0 once it has started.
    """

    attempt: int
    stored: Position
    is_over: bool
    queue_position: int


@dataclass(frozen=True, kw_only=True)
class _Read:
    began_at: float
    task: asyncio.Task[TurnStatus]


class TurnStatusCache:
    """The newest read of each turn's status on one event loop."""

    def __init__(self) -> None:
        self._reads: dict[uuid.UUID, _Read] = {}

    async def get(self, turn_id: uuid.UUID, *, since: float) -> TurnStatus | None:
        """Return a status read at `since` (loop time) or later; None while the database is unavailable."""
        read = self._reads.get(turn_id)
        if read is None or read.began_at < since:
            loop = asyncio.get_running_loop()
            self._drop_old(loop.time())
            task = loop.create_task(in_thread(read_status, turn_id))
            self._reads.pop(turn_id, None)
            read = self._reads[turn_id] = _Read(began_at=loop.time(), task=task)
        try:
            return await asyncio.shield(read.task)
        except (OperationalError, InterfaceError) as error:
            logger.warning("A reader waits for the database: %s", error)
            return None

    def _drop_old(self, now: float) -> None:
        """Forget turns that are no longer watched; the oldest reads come first."""
        while self._reads:
            turn_id, oldest = next(iter(self._reads.items()))
            if now - oldest.began_at < 2 * limits.STATUS_CHECK_SECONDS:
                return
            del self._reads[turn_id]


def read_status(turn_id: uuid.UUID) -> TurnStatus:
    """Read the row before the log, so that the events of an end that is seen are stored. A deleted turn is over."""
    row = Turn.objects.filter(pk=turn_id).values_list("status", "attempt").first()
    status, attempt = row or (Turn.CANCELLED, 0)
    return TurnStatus(
        attempt=attempt,
        stored=event_log.last_stored(turn_id),
        is_over=status in Turn.TERMINAL,
        queue_position=turns.queue_position(turn_id) if status == Turn.QUEUED else 0,
    )


_caches: WeakKeyDictionary[asyncio.AbstractEventLoop, TurnStatusCache] = WeakKeyDictionary()


def loop_cache() -> TurnStatusCache:
    """Return the running loop's cache."""
    return _caches.setdefault(asyncio.get_running_loop(), TurnStatusCache())
