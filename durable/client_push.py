"""Push notifications to a person's open websockets, through the Channels layer.

A push is a hint and may be lost; what must arrive is in the database, and a client that reconnects reads it there.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from typing import Any

from channels.layers import get_channel_layer

from durable import limits
from durable.per_process import PerProcess, background_loop
from durable.redis import RedisError

logger = logging.getLogger(__name__)


def group_of(owner: object) -> str:
    """Return the Channels group of an owner's sockets; derived from a database id, never from input."""
    return "owner." + hashlib.sha256(str(owner).encode()).hexdigest()[:40]


def push(owner: object, kind: str, **data: Any) -> None:
    """Send one frame to all sockets of an owner, from any thread, without waiting and in order."""
    _queue().push(group_of(owner), {"type": "client.push", "frame": {"type": kind, **data}})


class PushQueue:
    """Send frames one after the other on the background loop; drop the oldest while Redis is down."""

    def __init__(self) -> None:
        self._loop = background_loop()
        self._unsent: deque[tuple[str, dict[str, Any]]] = deque(maxlen=limits.MAX_UNSENT_RINGS)
        self._sending: asyncio.Task[None] | None = None

    def push(self, group: str, message: dict[str, Any]) -> None:
        self._unsent.append((group, message))
        self._loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        if self._sending is None or self._sending.done():
            self._sending = self._loop.create_task(self._send_all(), name="client-push")

    async def _send_all(self) -> None:
        while self._unsent:
            await _send(*self._unsent.popleft())


_queue = PerProcess(PushQueue)


async def _send(group: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async with asyncio.timeout(limits.REDIS_TIMEOUT_SECONDS):
            await layer.group_send(group, message)
    except (RedisError, OSError, TimeoutError) as error:
        logger.warning("A push was not sent: %s", error)
    except Exception:  # a frame that cannot be sent must not keep the next ones back
        logger.exception("A push failed")
