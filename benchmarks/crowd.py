"""A crowd of websocket clients in a process of its own; it reads orders on stdin and answers in JSON.

The first line is the list of sockets, `[{"url", "headers", "hello"}, ...]`; the answer is READY once all of them are
being served. Each further line `report` answers what came since the last one: events, and their lags in milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import websockets
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.listener import STAMP
from benchmarks.side_by_side import Series

AT_ONCE = 10
TRIES = 5


class Crowd:
    def __init__(self) -> None:
        self.lags: list[float] = []
        self.closed = 0
        self.served = 0

    async def join(self, place: dict[str, Any], gate: asyncio.Semaphore) -> ClientConnection:
        """Connect, retrying as a browser does, since a busy server may miss a handshake."""
        for _ in range(TRIES):
            try:
                return await self._join(place, gate)
            except (OSError, websockets.WebSocketException):
                await asyncio.sleep(0.5)
        return await self._join(place, gate)

    async def _join(self, place: dict[str, Any], gate: asyncio.Semaphore) -> ClientConnection:
        async with gate:
            socket = await connect(
                place["url"],
                additional_headers=place["headers"],
                compression=None,
                ping_interval=None,
                open_timeout=60,
            )
            if place["hello"]:
                await socket.send(place["hello"])
            while '"type":"start"' not in str(await socket.recv()):
                pass
            self.served += 1
            return socket

    async def hear(self, socket: ClientConnection) -> None:
        try:
            async for frame in socket:
                now = time.monotonic_ns()
                for stamp in STAMP.findall(str(frame)):
                    self.lags.append((now - int(stamp)) / 1e6)
        except websockets.ConnectionClosed:
            pass
        self.closed += 1

    def report(self) -> dict[str, float]:
        lags, self.lags = self.lags, []
        found = Series.of(lags or [0.0])
        return {"events": len(lags), "p50": found.median, "p99": found.quantile(0.99), "closed": self.closed}


async def main() -> None:
    orders = asyncio.StreamReader(limit=2**26)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    crowd, gate = Crowd(), asyncio.Semaphore(AT_ONCE)
    places = json.loads(await orders.readline())
    sockets = await asyncio.gather(*(crowd.join(place, gate) for place in places))
    tasks = [asyncio.create_task(crowd.hear(socket)) for socket in sockets]
    print("READY", flush=True)
    while await orders.readline():
        print(json.dumps(crowd.report()), flush=True)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
