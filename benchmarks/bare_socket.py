"""The simplest servers that could deliver a turn: python -m benchmarks.bare_socket PORT SOCKET.

`/shared/KEY`: one Redis subscription for the whole process, fanned out in memory, a frame per event and socket.
`/original/KEY`: a Redis connection of its own per socket, which waits with XREAD and writes each entry's JSON again.
Both run in the product's own web server, so that only the application differs.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from copilot_project.server import make_server  # isort: skip  (installs the asyncio reactor)

import redis.asyncio

START = '{"type":"start","requestId":"r"}'
BLOCK_MILLISECONDS = 10_000


class Shared:
    """The listeners of each channel, on one shared connection."""

    def __init__(self, socket: str) -> None:
        self.redis = redis.asyncio.Redis(unix_socket_path=socket, decode_responses=True)
        self.pubsub = self.redis.pubsub()
        self.queues: dict[str, set[asyncio.Queue[str]]] = {}
        self.task: asyncio.Task[None] | None = None

    async def join(self, channel: str) -> asyncio.Queue[str]:
        queue: asyncio.Queue[str] = asyncio.Queue()
        if channel not in self.queues:
            self.queues[channel] = set()
            await self.pubsub.subscribe(channel)
        self.queues[channel].add(queue)
        if self.task is None:
            self.task = asyncio.create_task(self._read())
        return queue

    async def _read(self) -> None:
        while True:
            message = await self.pubsub.get_message(ignore_subscribe_messages=True, timeout=60)
            if message is not None:
                for queue in self.queues.get(message["channel"], ()):
                    queue.put_nowait(message["data"])


class Application:
    """Two bare ASGI websocket applications."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self.shared: Shared | None = None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        _, way, key = scope["path"].split("/", 2)
        await receive()
        await send({"type": "websocket.accept"})
        pump = asyncio.create_task(self.fan_out(key, send) if way == "shared" else self.read_alone(key, send))
        try:
            while (await receive())["type"] != "websocket.disconnect":
                pass
        finally:
            pump.cancel()

    async def fan_out(self, key: str, send: Any) -> None:
        if self.shared is None:
            self.shared = Shared(self.socket)
        queue = await self.shared.join(key)
        await send({"type": "websocket.send", "text": START})
        sequence = 0
        while True:
            for line in (await queue.get()).split("\n"):
                body = line.split(" ", 2)[2]
                text = f'{{"type":"chunk","requestId":"r","sequence":{sequence},"chunk":{body}}}'
                await send({"type": "websocket.send", "text": text})
                sequence += 1

    async def read_alone(self, key: str, send: Any) -> None:
        client = redis.asyncio.Redis(
            unix_socket_path=self.socket, decode_responses=True, single_connection_client=True
        )
        await send({"type": "websocket.send", "text": START})
        sequence, at = 0, "$"
        async with client:
            while True:
                found: Any = await client.xread({key: at}, block=BLOCK_MILLISECONDS)
                for place, fields in found[0][1] if found else ():
                    at = place
                    chunk = json.loads(fields["e"].split(" ", 1)[1])
                    frame = {"type": "chunk", "requestId": "r", "sequence": sequence, "chunk": chunk}
                    await send({"type": "websocket.send", "text": json.dumps(frame)})
                    sequence += 1


def main(port: int, socket: str) -> None:
    make_server(Application(socket), [f"tcp:port={port}:interface=127.0.0.1"]).run()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
