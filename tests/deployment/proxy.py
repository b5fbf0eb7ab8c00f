"""A round-robin reverse proxy without stickiness, as small as one can be: each request goes to the next server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count

HEAD_END = b"\r\n\r\n"
MAX_HEAD_BYTES = 64 * 1024
CONNECT_SECONDS = 20.0
PAUSE_SECONDS = 0.05


class Proxy:
    """Speaks HTTP/1.1 to clients, one request per connection to the servers; websockets pass as they are."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = list(ports)
        self.served = dict.fromkeys(self.ports, 0)
        self.port = 0
        self._turns = count()

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0, limit=MAX_HEAD_BYTES)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(HEAD_END)
            while not await self._pass_on(head, reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # either side has gone; the other one is told by the closed connection
        finally:
            writer.close()

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One try at one server; False when a GET, which may be asked twice, got no byte of an answer.

        Caddy and nginx do the same as they are set up in docker/: a server that was just leaving is passed over.
        """
        upstream, answers = await self._connect()
        try:
            answers.write(outgoing(head))
            if not head.startswith(b"GET "):
                await asyncio.gather(pipe(reader, answers), pipe(upstream, writer, last=True))
                return True
            first = b""
            with suppress(OSError):
                first = await upstream.read(65_536)
            if not first:
                return False
            writer.write(first)
            await asyncio.gather(pipe(reader, answers), pipe(upstream, writer, last=True))
            return True
        finally:
            answers.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The next server that takes a connection: one that is being replaced does not."""
        async with asyncio.timeout(CONNECT_SECONDS):
            while True:
                for _ in self.ports:
                    port = self.ports[next(self._turns) % len(self.ports)]
                    with suppress(OSError):
                        found = await asyncio.open_connection("127.0.0.1", port)
                        self.served[port] += 1
                        return found
                await asyncio.sleep(PAUSE_SECONDS)


def outgoing(head: bytes) -> bytes:
    """The head as the server gets it: one request per connection, except where it becomes a websocket."""
    if b"upgrade: websocket" in head.lower():
        return head
    lines = [line for line in head[:-4].split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close"]) + HEAD_END


async def pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, last: bool = False) -> None:
    """Pass bytes on as they come; `last` closes the sink at the end of the source."""
    with suppress(OSError):
        while data := await source.read(65_536):
            sink.write(data)
            await sink.drain()
    if last:
        sink.close()


@contextmanager
def round_robin(ports: Sequence[int]) -> Iterator[Proxy]:
    """A proxy in a thread of its own."""
    proxy, ready, loop = Proxy(ports), threading.Event(), asyncio.new_event_loop()

    async def serve() -> None:
        async with await proxy.start() as server:
            ready.set()
            with suppress(asyncio.CancelledError):
                await server.serve_forever()

    main = loop.create_task(serve())
    thread = threading.Thread(target=lambda: loop.run_until_complete(main), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(main.cancel)
        thread.join(10)
