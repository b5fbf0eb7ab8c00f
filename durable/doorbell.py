"""The doorbell: news for the websockets of a person's devices, through the Channels layer.

A ring is a hint. It may be lost; what must arrive is in the database, and a client that reconnects asks again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from typing import Any

from channels.layers import get_channel_layer

from durable import limits
from durable.loop import background_loop
from durable.process import PerProcess
from durable.redis import RedisError

logger = logging.getLogger(__name__)


def group_of(owner: object) -> str:
    """The group of everything one person has open; made from a database id only, never from input."""
    return "owner." + hashlib.sha256(str(owner).encode()).hexdigest()[:40]


def ring(owner: object, kind: str, **data: Any) -> None:
    """Send one frame to all devices of a person, from any thread, without waiting; rings keep their order."""
    _bell().ring(group_of(owner), {"type": "doorbell.ring", "frame": {"type": kind, **data}})


class Bell:
    """Rings one after the other on the background loop; when Redis is away, the oldest are forgotten."""

    def __init__(self) -> None:
        self._loop = background_loop()
        self._unsent: deque[tuple[str, dict[str, Any]]] = deque(maxlen=limits.MAX_UNSENT_RINGS)
        self._ringing: asyncio.Task[None] | None = None

    def ring(self, group: str, message: dict[str, Any]) -> None:
        self._unsent.append((group, message))
        self._loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        if self._ringing is None or self._ringing.done():
            self._ringing = self._loop.create_task(self._send_all(), name="doorbell")

    async def _send_all(self) -> None:
        while self._unsent:
            await _send(*self._unsent.popleft())


_bell = PerProcess(Bell)


async def _send(group: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async with asyncio.timeout(limits.REDIS_TIMEOUT_SECONDS):
            await layer.group_send(group, message)
    except (RedisError, OSError, TimeoutError) as error:
        logger.warning("The doorbell did not ring: %s", error)
    except Exception:  # a frame that cannot be sent must not keep the next ones back
        logger.exception("A ring of the doorbell failed")
