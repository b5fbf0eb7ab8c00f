"""Ask one server as many people would, and print as JSON how long the first word and the whole answer took.

`python load.py` reads one JSON object from stdin: `server` (whose protocol to speak), `url`, `headers`, `model`,
`paths` (one per conversation, for servers that have addresses for them), and either `at_once` (conversations that ask
at the same moment) or `users` and `seconds` (each asks again when its answer has ended). It needs aiohttp, and
python-socketio for Chainlit, and runs in the environment of whatever it asks.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from aiohttp import ClientSession, ClientTimeout, TCPConnector

ANSWER_SECONDS = 120
FIRST_WORD = {
    "ratchet": b'"text-delta"',
    "ai_sdk": b'"text-delta"',
    "proxy": b'"content": "0 "',
    "langgraph": b'"content":"0 "',
}
Ask = Callable[[], Awaitable[tuple[float, float]]]


class HttpConversation:
    """A conversation with a server that streams its answer to a POST."""

    def __init__(self, session: ClientSession, order: dict[str, Any], number: int) -> None:
        self.session = session
        self.server = order["server"]
        self.path = order["paths"][number % len(order["paths"])]
        self.model = order["model"]

    async def ask(self) -> tuple[float, float]:
        mark, seen, first = FIRST_WORD[self.server], b"", 0.0
        started = time.perf_counter()
        async with self.session.post(self.path, json=self.body()) as response:
            response.raise_for_status()
            async for piece in response.content.iter_any():
                if not first:
                    seen += piece
                    first = time.perf_counter() - started if mark in seen else 0.0
        if not first:
            raise RuntimeError(f"no word came from {self.server}: {seen[-500:]!r}")
        return first, time.perf_counter() - started

    async def close(self) -> None:
        """Nothing is kept open: connections belong to the session."""

    def body(self) -> dict[str, Any]:
        text = self.model
        if self.server == "langgraph":
            messages = [{"role": "user", "content": text}]
            return {"assistant_id": "chat", "input": {"messages": messages}, "stream_mode": "messages-tuple"}
        if self.server == "ai_sdk":
            part = {"type": "text", "text": text}
            return {"model": self.model, "messages": [{"id": "m", "role": "user", "parts": [part]}]}
        return {"message": text, "model": self.model} if self.server == "proxy" else {"message": text}


class SocketConversation:
    """A conversation with Chainlit, whose protocol is Socket.IO."""

    def __init__(self, order: dict[str, Any]) -> None:
        import socketio

        self.url, self.model = order["url"], order["model"]
        self.socket = socketio.AsyncClient()
        self.socket.on("stream_start", self.on_token)
        self.socket.on("stream_token", self.on_token)
        self.socket.on("task_end", self.on_end)
        self.started = self.first = 0.0
        self.ended = asyncio.Event()

    async def connect(self) -> None:
        auth = {"sessionId": str(uuid.uuid4()), "clientType": "webapp", "userEnv": "{}", "threadId": ""}
        await self.socket.connect(
            self.url, auth=auth, socketio_path="/ws/socket.io", transports=["websocket"]
        )
        await self.socket.emit("connection_successful")
        await asyncio.wait_for(self.ended.wait(), ANSWER_SECONDS)  # it says so once when a client has joined

    async def close(self) -> None:
        await self.socket.disconnect()

    async def on_token(self, _: object) -> None:
        self.first = self.first or time.perf_counter() - self.started

    async def on_end(self, _: object = None) -> None:
        self.ended.set()

    async def ask(self) -> tuple[float, float]:
        self.ended.clear()
        self.first, self.started = 0.0, time.perf_counter()
        message = {
            "id": str(uuid.uuid4()), "name": "user", "type": "user_message", "output": self.model,
            "createdAt": datetime.now(UTC).isoformat(),
        }  # fmt: skip
        await self.socket.emit("client_message", {"message": message, "fileReferences": None})
        await asyncio.wait_for(self.ended.wait(), ANSWER_SECONDS)
        if not self.first:
            raise RuntimeError("no word came from chainlit")
        return self.first, time.perf_counter() - self.started


async def main(order: dict[str, Any]) -> None:
    number = order.get("at_once") or order["users"]
    timeout = ClientTimeout(total=ANSWER_SECONDS)
    async with ClientSession(
        order["url"], headers=order["headers"], timeout=timeout, connector=TCPConnector(limit=0)
    ) as session:
        conversations = await open_conversations(session, order, number)
        asks: list[Ask] = [conversation.ask for conversation in conversations]
        if order.get("at_once"):
            found = list(await asyncio.gather(*(ask() for ask in asks)))
        else:
            found = await closed_loop(asks, order["seconds"])
        await asyncio.gather(*(conversation.close() for conversation in conversations))
    print(json.dumps({"first": [row[0] for row in found], "whole": [row[1] for row in found]}), flush=True)


async def open_conversations(
    session: ClientSession, order: dict[str, Any], number: int
) -> list[HttpConversation | SocketConversation]:
    if order["server"] != "chainlit":
        return [HttpConversation(session, order, place) for place in range(number)]
    sockets = [SocketConversation(order) for _ in range(number)]
    for socket in sockets:
        await socket.connect()
    return list(sockets)


async def closed_loop(asks: list[Ask], seconds: float) -> list[tuple[float, float]]:
    """Let each user ask again and again; the first answers of all come at once and do not count."""
    until = time.perf_counter() + seconds
    found: list[tuple[float, float]] = []

    async def user(ask: Ask) -> None:
        await ask()
        found.append(await ask())
        while time.perf_counter() < until:
            found.append(await ask())

    await asyncio.gather(*(user(ask) for ask in asks))
    return found


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.stdin.readline())))
