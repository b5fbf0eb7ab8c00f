"""Wait for a job to change, from synchronous code or on an event loop: race-free and with a deadline."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError

from durable import limits
from durable.backoff import Backoff
from durable.database import release, retry_database
from durable.event_log import stream_key, watching
from durable.hub import watch_in_background
from durable.stop_signal import StopSignal

logger = logging.getLogger(__name__)
T = TypeVar("T")


def any_news(payload: str | None) -> bool:
    """Accept every event."""
    return True


def wait_for(
    job_id: uuid.UUID,
    look: Callable[[], T | None],
    *,
    seconds: float,
    stop: StopSignal | None = None,
    matters: Callable[[str | None], bool] = any_news,
) -> T | None:
    """Return what `look` finds as soon as it finds something; None on timeout or if `stop` was set.

    The subscription is confirmed before the first look, so no change is missed, and it is always released. No database
    connection is held while waiting. `matters` gets each event and decides whether to look at the row; it runs on the
    background loop and must not block.
    """
    deadline = time.monotonic() + seconds
    news, ready = threading.Event(), threading.Event()

    def hear(payload: str | None) -> None:
        if not payload or matters(payload):
            news.set()

    watch = watch_in_background(stream_key(job_id), hear, ready=ready)
    remove = stop.add_callback(news.set) if stop is not None else (lambda: None)
    try:
        release()
        ready.wait(min(seconds, limits.REDIS_TIMEOUT_SECONDS))
        while True:
            news.clear()
            found = retry_database(look, seconds=deadline - time.monotonic())
            remaining = deadline - time.monotonic()
            if found is not None or remaining <= 0 or (stop is not None and stop.is_set()):
                return found
            release()
            news.wait(min(remaining, limits.STATUS_CHECK_SECONDS))
    finally:
        watch.cancel()
        remove()


async def wait_on_loop(
    job_id: uuid.UUID,
    look: Callable[[], Awaitable[T | None]],
    *,
    seconds: float,
    stop: StopSignal | None = None,
) -> T | None:
    """Do the same as `wait_for` without a thread; cancel the task to end the wait.

    A database outage counts as nothing found. Periodic looks make up for lost notifications; they become rarer over
    time, because many may wait and each look costs a thread and a query.
    """
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    deadline = loop.time() + seconds
    backoff = Backoff(limits.STATUS_CHECK_SECONDS, limits.RARE_STATUS_CHECK_SECONDS)

    def wake() -> None:
        loop.call_soon_threadsafe(news.set)

    remove = stop.add_callback(wake) if stop else (lambda: None)
    try:
        async with watching(job_id, lambda payload: news.set()):
            while True:
                news.clear()
                found = await _try(look)
                remaining = deadline - loop.time()
                if found is not None or remaining <= 0 or (stop is not None and stop.is_set()):
                    return found
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(remaining, backoff.next())):
                        await news.wait()
    finally:
        remove()


async def _try(look: Callable[[], Awaitable[T | None]]) -> T | None:
    try:
        return await look()
    except (OperationalError, InterfaceError) as error:
        logger.warning("Waiting for a job while the database is unavailable: %s", error)
        return None
