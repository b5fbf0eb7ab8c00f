"""Looking at a turn's row: one look per process serves everyone who watches the turn."""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from django.db import InterfaceError, OperationalError

from chat import turns
from chat.delivery.threads import in_thread
from chat.models import Turn
from durable import limits, log
from durable.events import Position

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a turn stood: its attempt, the newest event the database has, and whether nothing more will come.

    `position` is its place in its person's queue, 0 once it has begun.
    """

    attempt: int
    stored: Position
    is_over: bool
    position: int


@dataclass(frozen=True, kw_only=True)
class _Shared:
    began_at: float
    task: asyncio.Task[Look]


class Looks:
    """The looks of one loop."""

    def __init__(self) -> None:
        self._shared: dict[uuid.UUID, _Shared] = {}

    async def at(self, turn_id: uuid.UUID, *, since: float) -> Look | None:
        """A look that began at `since` (loop time) or later; None while the database is away."""
        shared = self._shared.get(turn_id)
        if shared is None or shared.began_at < since:
            loop = asyncio.get_running_loop()
            self._drop_old(loop.time())
            task = loop.create_task(in_thread(look_at, turn_id))
            self._shared.pop(turn_id, None)
            shared = self._shared[turn_id] = _Shared(began_at=loop.time(), task=task)
        try:
            return await asyncio.shield(shared.task)
        except (OperationalError, InterfaceError) as error:
            logger.warning("The database is away; a reader waits: %s", error)
            return None

    def _drop_old(self, now: float) -> None:
        """Keep no more than the turns being watched; the oldest looks stand first."""
        while self._shared:
            turn_id, oldest = next(iter(self._shared.items()))
            if now - oldest.began_at < 2 * limits.STATUS_CHECK_SECONDS:
                return
            del self._shared[turn_id]


def look_at(turn_id: uuid.UUID) -> Look:
    """The status before the log, so that an end that is seen has its events stored. A deleted turn is over."""
    row = Turn.objects.filter(pk=turn_id).values_list("status", "attempt").first()
    status, attempt = row or (Turn.CANCELLED, 0)
    return Look(
        attempt=attempt,
        stored=log.last_stored(turn_id),
        is_over=status in Turn.TERMINAL,
        position=turns.position_in_line(turn_id) if status == Turn.QUEUED else 0,
    )


_looks: WeakKeyDictionary[asyncio.AbstractEventLoop, Looks] = WeakKeyDictionary()


def loop_looks() -> Looks:
    """The running loop's."""
    return _looks.setdefault(asyncio.get_running_loop(), Looks())
