"""A wire between browser and server that a test can cut, or make swallow what is said on it.

Switching a browser offline leaves its open sockets alone; and most connections that die in the world do so in silence.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(eq=False)
class Line:
    """One connection over the wire; a deaf one stays open, and nothing comes through any more."""

    deaf: bool = False


class Wire:
    """Forwards connections to a port on this machine; while cut, open ones break and new ones are refused."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        self._lines: set[Line] = set()
        self._swallows = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)

    def swallow(self, *, all_to_come: bool = False) -> None:
        """Nothing comes through what is open, for good; with `all_to_come` through nothing, until it is mended."""
        self._swallows = all_to_come
        for line in list(self._lines):
            line.deaf = True

    def mend(self) -> None:
        self._swallows = False
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(10)

    async def _open(self) -> None:
        if self._server is not None and self._server.is_serving():
            return
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for end in list(self._ends):
            end.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        line = Line(deaf=self._swallows)
        self._lines.add(line)
        self._ends |= {writer, far_writer}
        await asyncio.gather(self._pump(line, reader, far_writer), self._pump(line, far_reader, writer))
        self._ends -= {writer, far_writer}
        self._lines.discard(line)

    async def _pump(self, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if not line.deaf:
                    writer.write(data)
                    await writer.drain()
        if line.deaf:
            return  # the other end is not told, either
        with contextlib.suppress(OSError):
            writer.close()

    def run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def stop(self) -> None:
        self.cut()
        asyncio.run_coroutine_threadsafe(self._settle(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _settle(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)


@contextlib.contextmanager
def laid_wire(target: int) -> Iterator[Wire]:
    wire = Wire(target)
    thread = threading.Thread(target=wire.run, daemon=True)
    thread.start()
    wire.mend()
    yield wire
    wire.stop()
    thread.join(60)
