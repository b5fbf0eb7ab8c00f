"""Watching the operations a running turn has started, so that its readers see how far they are."""

from __future__ import annotations

import asyncio
import logging
import uuid
from concurrent.futures import Future

from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError

from chat.events import OperationNews
from chat.long_work import news_of
from chat.models import Turn
from chat.protocol import Framed
from durable import log
from durable.emitter import Emitter
from durable.hub import loop_hub
from durable.loop import submit
from tools.models import Operation

logger = logging.getLogger(__name__)


class OperationWatch:
    """Passing notes in a turn's stream about its operations, from their start to their end or the turn's."""

    def __init__(self, turn: Turn, emitter: Emitter) -> None:
        self._turn = turn
        self._emitter = emitter
        self._watched: dict[uuid.UUID, Future[None]] = {}

    def __enter__(self) -> OperationWatch:
        return self

    def __exit__(self, *exc: object) -> None:
        for watch in self._watched.values():
            watch.cancel()

    def look(self) -> None:
        """Watch what this turn has started and is not watched yet; called after a step's tools have run."""
        live = Operation.live().filter(session_id=self._turn.session_id, turn_id=self._turn.pk)
        for operation_id in live.values_list("pk", flat=True):
            if operation_id not in self._watched:
                self._watched[operation_id] = submit(self._follow(operation_id))

    async def _follow(self, operation_id: uuid.UUID) -> None:
        """Subscribed before the row is read, so that nothing falls between; until the operation has ended."""
        changed = asyncio.Event()
        told: OperationNews | None = None
        async with loop_hub().watching(log.stream_key(operation_id), lambda payload: changed.set()):
            while True:
                changed.clear()
                found = await self._read(operation_id)
                if found is not None:
                    news = news_of(found, passing=True)
                    if news != told:
                        self._emitter.hint(Framed(news))
                        told = news
                    if found.is_terminal:
                        return
                await changed.wait()

    async def _read(self, operation_id: uuid.UUID) -> Operation | None:
        """None while the database is away, and when the operation is gone: nobody depends on a passing note."""
        find = database_sync_to_async(Operation.objects.filter(pk=operation_id).first, thread_sensitive=False)
        try:
            return await find()
        except (OperationalError, InterfaceError) as error:
            logger.warning("Progress was not told: %s", error)
            return None
