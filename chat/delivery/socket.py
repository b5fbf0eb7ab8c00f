"""What every websocket does: lets its guest in, listens within limits, and closes with a code that says why."""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Coroutine
from typing import Any

from django.db import InterfaceError, OperationalError

from chat.delivery.entrance import Guest, Receive, Scope, Send, admit
from chat.delivery.threads import in_thread
from durable import limits
from durable.ids import new_id
from durable.places import Places

logger = logging.getLogger(__name__)


class CloseCode(enum.IntEnum):
    """Why a socket is closed."""

    BAD_FRAME = 1008
    TOO_BIG = 1009
    TRY_LATER = 1013
    NOT_LOGGED_IN = 4401
    TOO_MANY = 4429


class Closing(Exception):
    """The socket ends here; without a code the client has left already."""

    def __init__(self, code: CloseCode | None = None) -> None:
        super().__init__(code)
        self.code = code


class Socket:
    """One websocket, as a bare ASGI application: what it sends goes straight to the server.

    Its tasks live in one group. Whichever ends the connection raises Closing; the others are cancelled then.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self._receive = receive
        self._send = send
        self._frames = FrameRate(asyncio.get_running_loop().time())
        self.tasks: asyncio.TaskGroup
        self.guest: Guest

    @classmethod
    async def application(cls, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI entry."""
        await cls(scope, receive, send).run()

    async def run(self) -> None:
        await self._receive()  # websocket.connect
        guest = await self._admit()
        if guest is None:
            return None
        self.guest = guest
        places = Places(
            f"sockets:{guest.owner.name}",
            str(new_id()),
            most=limits.MAX_SOCKETS_PER_USER,
            seconds=2 * limits.SOCKET_CHECK_SECONDS,
        )
        if not await places.take():
            return await self._refuse(CloseCode.TOO_MANY)
        try:
            await self._serve(places)
        finally:
            await asyncio.shield(places.leave())
        return None

    async def _admit(self) -> Guest | None:
        """Let in or turn away; the handshake is accepted first, because browsers do not tell of refused ones."""
        try:
            guest = await in_thread(admit, self.scope)
        except (OperationalError, InterfaceError):
            logger.warning("A socket was turned away: the database is away")
            await self._refuse(CloseCode.TRY_LATER)
            return None
        if guest is None:
            await self._refuse(CloseCode.NOT_LOGGED_IN)
        return guest

    async def _refuse(self, code: CloseCode) -> None:
        await self._send({"type": "websocket.accept"})
        await self._send({"type": "websocket.close", "code": int(code)})

    async def _serve(self, places: Places) -> None:
        code: CloseCode | None = None
        try:
            async with asyncio.TaskGroup() as self.tasks:
                await self.opening()
                await self._send({"type": "websocket.accept"})
                self.tasks.create_task(self._listen())
                self.tasks.create_task(self._watch(places))
        except* Closing as endings:
            code = next((error.code for error in leaves(endings) if error.code is not None), None)
        if code is not None:
            await self._send({"type": "websocket.close", "code": int(code)})

    # --- for the kinds of sockets -------------------------------------------------------------------

    async def opening(self) -> None:
        """Called before the handshake is accepted."""

    async def heard(self, text: str) -> None:
        """Called with each frame of the client."""

    async def say(self, text: str) -> None:
        """Send one text frame; waits while the client is behind, where the server can tell."""
        await self._send({"type": "websocket.send", "text": text})

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something beside; it is cancelled when the socket ends."""
        return self.tasks.create_task(work)

    async def check_login(self) -> None:
        """Close the socket of someone who is no longer logged in."""
        try:
            welcome = await in_thread(self.guest.still_welcome)
        except (OperationalError, InterfaceError):
            return  # nobody can be logged out while the database is away
        if not welcome:
            raise Closing(CloseCode.NOT_LOGGED_IN)

    # --- its tasks ----------------------------------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                raise Closing
            text = message.get("text")
            self._frames.count(asyncio.get_running_loop().time(), len(text or ""))
            if text is None:
                raise Closing(CloseCode.BAD_FRAME)
            if len(text) > limits.MAX_FRAME_BYTES:
                raise Closing(CloseCode.TOO_BIG)
            await self.heard(text)

    async def _watch(self, places: Places) -> None:
        while True:
            await asyncio.sleep(limits.SOCKET_CHECK_SECONDS)
            await self.check_login()
            await places.keep()


class FrameRate:
    """Limits the frames a client sends, by their number and by their characters."""

    def __init__(self, now: float) -> None:
        self._frames = Bucket(now, size=limits.SOCKET_FRAME_BURST, per_second=limits.SOCKET_FRAMES_PER_SECOND)
        self._characters = Bucket(
            now, size=limits.SOCKET_BYTES_BURST, per_second=limits.SOCKET_BYTES_PER_SECOND
        )

    def count(self, now: float, characters: int) -> None:
        """Count one frame; raises Closing when the client has sent too much."""
        if not (self._frames.take(now, 1) and self._characters.take(now, characters)):
            raise Closing(CloseCode.TOO_MANY)


class Bucket:
    """A token bucket: so much at once, refilled steadily."""

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


def leaves(group: BaseExceptionGroup[Closing]) -> list[Closing]:
    found: list[Closing] = []
    for error in group.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
