"""Transient notes in a turn's stream: what a long wait is for, and the progress of its operations."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future

from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError

from chat import limits
from chat.events import OperationUpdate
from chat.models import Turn
from chat.protocol import Framed
from chat.turn_log import progress_event
from durable import event_log
from durable.emitter import Emitter
from durable.per_process import background_loop, submit
from tools.models import Operation

logger = logging.getLogger(__name__)


class IdleNotices:
    """Call `notify` when nothing happened for 10, 30 and 60 seconds.

    `touch` only notes the time, so that it can be called for every delta; one timer per wait compares it.
    """

    def __init__(self, notify: Callable[[str, int], None], waiting_for: str) -> None:
        self._notify = notify
        self._waiting_for = waiting_for
        self._touched_at = time.monotonic()
        self._sent = 0
        self._timer: asyncio.TimerHandle | None = None
        self._over = False
        self._loop = background_loop()

    def touch(self) -> None:
        self._touched_at = time.monotonic()
        self._sent = 0

    def __enter__(self) -> IdleNotices:
        self._loop.call_soon_threadsafe(self._set_timer)
        return self

    def __exit__(self, *exc: object) -> None:
        self._over = True
        self._loop.call_soon_threadsafe(self._cancel_timer)

    def _set_timer(self) -> None:
        if self._over:
            return
        if self._sent >= len(limits.IDLE_NOTICE_SECONDS):
            delay = limits.IDLE_NOTICE_SECONDS[0]
        else:
            delay = self._touched_at + limits.IDLE_NOTICE_SECONDS[self._sent] - time.monotonic()
        self._timer = self._loop.call_later(max(delay, 0.01), self._check)

    def _check(self) -> None:
        idle = time.monotonic() - self._touched_at
        notes = limits.IDLE_NOTICE_SECONDS
        if not self._over and self._sent < len(notes) and idle >= notes[self._sent]:
            self._sent += 1
            self._notify(self._waiting_for, int(idle))
        self._set_timer()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class OperationWatch:
    """Emit a turn's operations' progress into its stream, until they end or the turn does."""

    def __init__(self, turn: Turn, emitter: Emitter) -> None:
        self._turn = turn
        self._emitter = emitter
        self._watched: dict[uuid.UUID, Future[None]] = {}

    def __enter__(self) -> OperationWatch:
        return self

    def __exit__(self, *exc: object) -> None:
        for watch in self._watched.values():
            watch.cancel()

    def watch_new(self) -> None:
        """Start to watch the operations the turn has started since the last call."""
        live = Operation.live().filter(session_id=self._turn.session_id, turn_id=self._turn.pk)
        for operation_id in live.values_list("pk", flat=True):
            if operation_id not in self._watched:
                self._watched[operation_id] = submit(self._follow(operation_id))

    async def _follow(self, operation_id: uuid.UUID) -> None:
        """Emit each change until the operation ends. Subscribes before it reads the row, so that it misses none."""
        changed = asyncio.Event()
        last: OperationUpdate | None = None
        async with event_log.watching(operation_id, lambda payload: changed.set()):
            while True:
                changed.clear()
                operation = await self._read(operation_id)
                if operation is not None:
                    event = progress_event(operation, transient=True)
                    if event != last:
                        self._emitter.hint(Framed(event))
                        last = event
                    if operation.is_terminal:
                        return
                await changed.wait()

    async def _read(self, operation_id: uuid.UUID) -> Operation | None:
        """Return None if the operation is gone or the database unavailable: nothing depends on a transient note."""
        find = database_sync_to_async(Operation.objects.filter(pk=operation_id).first, thread_sensitive=False)
        try:
            return await find()
        except (OperationalError, InterfaceError) as error:
            logger.warning("An operation's progress was not read: %s", error)
            return None
