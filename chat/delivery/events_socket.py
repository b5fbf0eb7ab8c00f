"""/ws/events/: everything that changes for a person, pushed to all their devices. Frames are hints."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from channels.layers import get_channel_layer

from chat.delivery.socket import CloseCode, Closing, Socket
from durable.doorbell import group_of
from durable.events import encode
from durable.redis import RedisError, answer

logger = logging.getLogger(__name__)


class EventsSocket(Socket):
    """Listens to the doorbell. What the client sends means nothing here."""

    async def opening(self) -> None:
        """Subscribed before the handshake is answered: who has the socket open misses nothing from then on."""
        layer: Any = get_channel_layer()
        group = group_of(self.guest.owner.name)
        try:
            channel = await layer.new_channel()
            await answer(layer.group_add(group, channel))
        except (RedisError, OSError) as error:
            logger.warning("A socket could not hear the doorbell: %s", error)
            await self._send({"type": "websocket.accept"})
            raise Closing(CloseCode.TRY_LATER) from None
        self.start(self._pass_on(layer, group, channel))

    async def _pass_on(self, layer: Any, group: str, channel: str) -> None:
        try:
            while True:
                message = await layer.receive(channel)
                if message["type"] == "doorbell.ring":
                    await self.say(encode(message["frame"]))
        finally:
            with suppress(RedisError, OSError):
                await answer(layer.group_discard(group, channel))
