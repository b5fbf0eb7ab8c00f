"""/ws/events/: push changes to all devices of a person. Frames are hints; the database is authoritative."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from chat.delivery.authentication import Receive, Scope, Send
from chat.delivery.consumer import CloseCode, SocketConsumer
from durable.client_push import group_of
from durable.event_log import encode
from durable.redis import RedisError, answer

logger = logging.getLogger(__name__)


class EventsConsumer(SocketConsumer):
    """A member of its person's group in the channel layer. Frames of the client are ignored."""

    group = ""

    async def run(self, scope: Scope, receive: Receive, send: Send) -> CloseCode | None:
        code: CloseCode | None = None
        try:
            code = await super().run(scope, receive, send)
        except* (RedisError, OSError) as group:
            logger.warning("A socket was closed: the channel layer is unavailable: %s", group.exceptions[0])
            code = CloseCode.TRY_LATER
        finally:
            await self._leave_group()
        return code

    async def subscribe(self) -> None:
        self.group = group_of(self.client.owner.name)
        await answer(self.channel_layer.group_add(self.group, self.channel_name))

    async def _leave_group(self) -> None:
        if self.group:
            with suppress(RedisError, OSError):
                await answer(self.channel_layer.group_discard(self.group, self.channel_name))

    async def client_push(self, message: dict[str, Any]) -> None:
        """Send the frame that `durable.client_push` sent to the group."""
        await self.send(text_data=encode(message["frame"]))

    doorbell_ring = client_push  # accepted for one release: workers of the previous one still send it
