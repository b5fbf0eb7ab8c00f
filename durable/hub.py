"""One Redis subscription per process and loop, shared by all listeners."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

from durable import limits
from durable.backoff import Backoff
from durable.per_process import submit
from durable.redis import RedisAway, RedisError, answer, async_connection, key

logger = logging.getLogger(__name__)

News = Callable[[str | None], None]  # a payload; None: something may have been missed, check the state
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 2.0
IDLE = key("idle")  # always subscribed, so that the connection stays in its subscriber mode


class Subscription:
    """The listeners of one channel, and whether Redis has confirmed the subscription."""

    def __init__(self) -> None:
        self.listeners: dict[object, News] = {}
        self.confirmed = asyncio.Event()
        self.missed = (
            False  # a listener was added while Redis was down: it checks the state once Redis is back
        )

    def tell(self, payload: str | None) -> None:
        for news in tuple(self.listeners.values()):
            try:
                news(payload)
            except Exception:  # one listener's error must not affect the others
                logger.exception("A listener failed")


class Hub:
    """Channels and their listeners. All methods run on the hub's own loop.

    Redis confirms a subscription before `watching` enters its block, so that a caller who then reads the current
    state misses nothing. After a lost connection every listener gets None once its channel is confirmed again.
    """

    def __init__(self) -> None:
        self._subscriptions: dict[str, Subscription] = {IDLE: Subscription()}
        self._asked: Counter[str] = Counter()  # SUBSCRIBEs on this connection that have no answer yet
        self._connection: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._sending = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def watching(self, channel: str, news: News) -> AsyncIterator[None]:
        """Receive everything published on a channel inside the block; without Redis, None follows later."""
        token = object()
        subscription = self._subscriptions.get(channel)
        fresh = subscription is None
        if subscription is None:
            subscription = self._subscriptions[channel] = Subscription()
        subscription.listeners[token] = news
        try:
            await self._confirm(channel, subscription, fresh=fresh)
            yield
        finally:
            self._release(channel, subscription, token)

    async def _confirm(self, channel: str, subscription: Subscription, *, fresh: bool) -> None:
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._forever(), name="hub")
        elif fresh:
            self._start(self._subscribe([channel]))
        try:
            # Nothing here waits through wait_for, ours or the client's: Python 3.11's swallows a cancellation that
            # comes together with the answer, and the listener would stay for ever.
            async with asyncio.timeout(limits.REDIS_TIMEOUT_SECONDS):
                await subscription.confirmed.wait()
        except TimeoutError:
            subscription.missed = True
            logger.warning("Redis did not confirm a subscription; continuing without it")

    def _release(self, channel: str, subscription: Subscription, token: object) -> None:
        """Unsubscribe without waiting, so that a cancelled listener cannot leave its subscription behind."""
        del subscription.listeners[token]
        if subscription.listeners or self._subscriptions.get(channel) is not subscription:
            return
        del self._subscriptions[channel]
        self._start(self._unsubscribe(channel))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="hub-send")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- the connection -------------------------------------------------------------------------

    async def _forever(self) -> None:
        backoff = Backoff(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        while True:
            try:
                await self._connect()
                backoff.reset()
                await self._read()
            except (RedisError, OSError) as error:
                logger.warning("The hub lost Redis: %s", error)
            except Exception:  # without this the hub would be silent for the life of the process
                logger.exception("The hub failed and restarts")
            await self._disconnect()
            await asyncio.sleep(backoff.next())

    async def _connect(self) -> None:
        connection = async_connection()
        await answer(connection.connect())
        self._connection = connection
        self._asked.clear()
        await self._subscribe(list(self._subscriptions))

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        for subscription in self._subscriptions.values():
            subscription.confirmed.clear()
            subscription.missed = True
        if connection is not None:
            await connection.disconnect(nowait=True)

    async def _read(self) -> None:
        """Read until the connection is lost; a silent one must answer a ping."""
        connection, pinged = self._connection, False
        while connection.is_connected:
            answer = await connection.read_response(timeout=limits.KEEP_ALIVE_SECONDS)
            if answer is not None:
                pinged = False
                self._hear(answer)
            elif pinged:
                raise RedisAway("No answer to a ping")
            else:
                pinged = True
                await self._say("PING")
        raise RedisAway("The connection was closed")

    def _hear(self, answer: list[Any]) -> None:
        kind, channel = answer[0], answer[1]
        if kind == "message":
            if subscription := self._subscriptions.get(channel):
                subscription.tell(answer[2])
        elif kind == "subscribe":
            self._asked[channel] -= 1
            if self._asked[channel] <= 0:
                del self._asked[channel]
                self._now_confirmed(channel)

    def _now_confirmed(self, channel: str) -> None:
        subscription = self._subscriptions.get(channel)
        if subscription is None:
            return
        subscription.confirmed.set()
        if subscription.missed:
            subscription.missed = False
            subscription.tell(None)

    # --- what is said to Redis ------------------------------------------------------------------

    async def _subscribe(self, channels: list[str]) -> None:
        """Subscribe to channels; if that fails the reader notices too and subscribes to all of them again."""
        async with self._sending:
            channels = [channel for channel in channels if channel in self._subscriptions]
            if self._connection is None or not channels:
                return
            self._asked.update(channels)
            try:
                await self._say("SUBSCRIBE", *channels)
            except (RedisError, OSError) as error:
                logger.warning("Could not subscribe, trying again: %s", error)

    async def _unsubscribe(self, channel: str) -> None:
        async with self._sending:
            if self._connection is None or channel in self._subscriptions:
                return  # a listener was added meanwhile
            try:
                await self._say("UNSUBSCRIBE", channel)
            except (RedisError, OSError):
                logger.debug("Redis was away while leaving a channel")

    async def _say(self, *words: str) -> None:
        if not self._connection.is_connected:
            raise RedisAway("The connection was closed")  # sending would reconnect, without subscriptions
        await answer(self._connection.send_command(*words, check_health=False))


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def loop_hub() -> Hub:
    """Return the running loop's hub."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    return _hubs[loop]


def watch_in_background(channel: str, news: News, *, ready: threading.Event | None = None) -> Future[None]:
    """Listen from synchronous code; `news` runs on the background loop and must not block. Cancel to stop."""

    async def watch() -> None:
        async with loop_hub().watching(channel, news):
            if ready is not None:
                ready.set()
            await asyncio.Event().wait()

    return submit(watch())
