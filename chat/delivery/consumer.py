"""The base of both websocket consumers: logins, limits and close codes."""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Coroutine
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import InterfaceError, OperationalError

from chat import limits
from chat.delivery.authentication import AuthenticatedClient, Receive, Scope, Send, authenticate
from chat.threads import in_thread
from durable.ids import new_id
from durable.rate_limit import SlotLimit

logger = logging.getLogger(__name__)


class CloseCode(enum.IntEnum):
    """Why the server closes a socket."""

    BAD_FRAME = 1008
    TOO_BIG = 1009
    TRY_LATER = 1013
    NOT_LOGGED_IN = 4401
    TOO_MANY = 4429


class SocketClosed(Exception):
    """Ends the consumer and all its tasks; without a code the client has closed the socket itself."""

    def __init__(self, code: CloseCode | None = None) -> None:
        super().__init__(code)
        self.code = code


class SocketConsumer(AsyncWebsocketConsumer):
    """A consumer whose handlers and background tasks live in one group.

    Any of them closes the socket by raising SocketClosed, which cancels the others.
    """

    base_send: Send  # type: ignore[assignment]
    tasks: asyncio.TaskGroup
    client: AuthenticatedClient

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # type: ignore[override]
        self.base_send = send
        self.slot: SlotLimit | None = None
        self.accepted = False
        try:
            code = await self.run(scope, receive, send)
            if code is not None:
                await self._close(code)
        finally:
            if self.slot is not None:
                await asyncio.shield(self.slot.leave())

    async def run(self, scope: Scope, receive: Receive, send: Send) -> CloseCode | None:
        """Serve the socket to its end; return the code to close it with, or None if the client has left."""
        code: CloseCode | None = None
        try:
            async with asyncio.TaskGroup() as self.tasks:
                await super().__call__(scope, receive, send)  # type: ignore[arg-type]
                raise SocketClosed
        except* SocketClosed as group:
            code = next((error.code for error in flatten(group) if error.code is not None), None)
        return code

    async def _close(self, code: CloseCode) -> None:
        """Close with a code; the handshake is accepted first, because browsers hide why one was refused."""
        if not self.accepted:
            await self.accept()
        await self.close(int(code))

    # --- connecting -------------------------------------------------------------------------------

    async def connect(self) -> None:
        self.frame_rate = FrameRate(asyncio.get_running_loop().time())
        self.client = await self._authenticate()
        await self._take_slot()
        await self.subscribe()
        self.accepted = True
        await self.accept()
        self.start(self._keep_checking())

    async def subscribe(self) -> None:
        """Join groups; called before the handshake is accepted, so that the client misses nothing after it."""

    async def _authenticate(self) -> AuthenticatedClient:
        try:
            client = await in_thread(authenticate, self.scope)  # type: ignore[arg-type]
        except (OperationalError, InterfaceError):
            logger.warning("A socket was refused: the database is unavailable")
            raise SocketClosed(CloseCode.TRY_LATER) from None
        if client is None:
            raise SocketClosed(CloseCode.NOT_LOGGED_IN)
        return client

    async def _take_slot(self) -> None:
        slot = SlotLimit(
            f"sockets:{self.client.owner.name}",
            str(new_id()),
            most=limits.MAX_SOCKETS_PER_USER,
            seconds=2 * limits.SOCKET_CHECK_SECONDS,
        )
        if not await slot.take():
            raise SocketClosed(CloseCode.TOO_MANY)
        self.slot = slot

    # --- while it is open -------------------------------------------------------------------------

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a background task; it is cancelled when the socket ends."""
        self.tasks.create_task(work)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Pass a text frame within the limits on to `receive_text`; close the socket on any other."""
        self.frame_rate.count(asyncio.get_running_loop().time(), len(text_data or ""))
        if text_data is None:
            raise SocketClosed(CloseCode.BAD_FRAME)
        if len(text_data) > limits.MAX_FRAME_BYTES:
            raise SocketClosed(CloseCode.TOO_BIG)
        await self.receive_text(text_data)

    async def receive_text(self, text: str) -> None:
        """Handle one text frame of the client."""

    async def check_login(self) -> None:
        """Close the socket if its login has ended; while the database is unavailable, none can end."""
        try:
            is_valid = await in_thread(self.client.is_login_valid)
        except (OperationalError, InterfaceError):
            return
        if not is_valid:
            raise SocketClosed(CloseCode.NOT_LOGGED_IN)

    async def _keep_checking(self) -> None:
        assert self.slot is not None
        while True:
            await asyncio.sleep(limits.SOCKET_CHECK_SECONDS)
            await self.check_login()
            await self.slot.keep()


class FrameRate:
    """Limits the frames a client sends, by number and by characters."""

    def __init__(self, now: float) -> None:
        self._frames = Bucket(now, size=limits.SOCKET_FRAME_BURST, per_second=limits.SOCKET_FRAMES_PER_SECOND)
        self._characters = Bucket(
            now, size=limits.SOCKET_BYTES_BURST, per_second=limits.SOCKET_BYTES_PER_SECOND
        )

    def count(self, now: float, characters: int) -> None:
        """Count one frame; raise SocketClosed if the client has sent too much."""
        if not (self._frames.take(now, 1) and self._characters.take(now, characters)):
            raise SocketClosed(CloseCode.TOO_MANY)


class Bucket:
    """A token bucket: `size` at once, refilled at a steady rate."""

    def __init__(self, now: float, *, size: int, per_second: int) -> None:
        self._size = size
        self._per_second = per_second
        self._left = float(size)
        self._at = now

    def take(self, now: float, amount: int) -> bool:
        refill = (now - self._at) * self._per_second
        self._left = min(self._left + refill, float(self._size)) - amount
        self._at = now
        return self._left >= 0


def flatten(group: BaseExceptionGroup[SocketClosed]) -> list[SocketClosed]:
    found: list[SocketClosed] = []
    for error in group.exceptions:
        found += flatten(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
