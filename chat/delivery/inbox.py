"""Announcements of one turn that its reader has not taken yet."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from types import TracebackType

from durable import log
from durable.events import Entry

MAX_UNREAD = 1_000  # announcements a slow reader may lie behind before it goes back to the log


class Inbox:
    """Bounded, for the log has everything; wakes its reader when nothing came for `quiet_seconds`.

    One timer runs along and is set anew only when it fires: a busy turn costs no timer per event.
    """

    def __init__(self, quiet_seconds: float) -> None:
        self._quiet_seconds = quiet_seconds
        self._news: list[str] = []
        self._look = False
        self._quiet = False
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Inbox:
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
        """Called by the hub. A nudge, a lost connection or an overflow says: look for yourself."""
        if not payload or len(self._news) >= MAX_UNREAD:
            self._news.clear()
            self._look = True
        elif not self._look:
            self._news.append(payload)
        self._heard_at = self._loop.time()
        self._wake()

    async def get(self) -> list[Entry] | None:
        """The next entries in order; an empty list says: look for yourself; None: it was quiet."""
        if not (self._news or self._look or self._quiet):
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        news, look, quiet = self._news, self._look, self._quiet
        self._news, self._look, self._quiet = [], False, False
        if look:
            return []
        if not news:
            return None if quiet else []
        if len(news) == 1:
            return list(parsed(news[0]))
        return [entry for payload in news for entry in parsed(payload)]

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
def parsed(payload: str) -> tuple[Entry, ...]:
    """The entries of an announcement, read once for all who hear it."""
    return tuple(log.parse_news(payload))
