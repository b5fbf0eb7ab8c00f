"""Many requests with `?wait=` on a real server: no thread each, gone with their clients, so many per person."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from accounts import limits
from accounts.api_keys import create_api_key
from accounts.models import User
from durable import jobs
from durable.redis import client, key
from executions.models import Agent, Execution
from executions.models.status import Status
from tests.chat.delivery.live_server import LiveServer

WAITS = 400
DEADLINE = 120.0
ROOM = 64  # threads that a busy server may have more than an idle one; each wait had three


@pytest.fixture
def server(transactional_db: None, redis_server: object) -> Iterator[LiveServer]:
    with LiveServer() as started:
        yield started


@pytest.fixture
def people(transactional_db: None) -> list[tuple[User, str]]:
    """As many as it takes for so many waits, with their keys."""
    users = [User.objects.create(username=f"u{n}") for n in range(WAITS // limits.MAX_WAITS_PER_USER)]
    return [(user, create_api_key(user, "test")) for user in users]


def queued(user: User) -> Execution:
    agent = Agent.objects.create(user=user, name="an agent of a test", latest_version=1)
    return Execution.objects.create(user=user, agent=agent, version=1, status=Status.QUEUED)


def threads(server: LiveServer) -> int:
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Threads:")))


def held_places() -> int:
    return sum(int(client().zcard(name)) for name in client().scan_iter(key("places", "waits:*")))


class Line:
    """A request on a socket of its own, written by hand: a client may leave without a word."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def ask(cls, server: LiveServer, path: str, api_key: str) -> Line:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api_key}\r\n\r\n".encode()
        )
        await writer.drain()
        return cls(reader, writer)

    async def answer(self) -> tuple[int, bytes]:
        async with asyncio.timeout(DEADLINE):
            head = await self.reader.readuntil(b"\r\n\r\n")
        return int(head.split()[1]), head

    def leave(self) -> None:
        self.writer.transport.abort()


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    end = time.monotonic() + DEADLINE
    while not await look():
        assert time.monotonic() < end, "It did not come to that."
        await asyncio.sleep(0.1)


async def test_long_waits_hold_no_threads_and_are_gone_with_their_clients(
    server: LiveServer, people: list[tuple[User, str]]
) -> None:
    rows = [(await asyncio.to_thread(queued, user), api_key) for user, api_key in people]
    idle = threads(server)
    lines = [
        await Line.ask(server, f"/api/executions/{row.pk}?wait=300", api_key)
        for row, api_key in rows
        for _ in range(limits.MAX_WAITS_PER_USER)
    ]

    async def held(count: int) -> bool:
        return await asyncio.to_thread(held_places) == count

    async def calm() -> bool:
        return threads(server) <= idle + ROOM

    await until(lambda: held(WAITS))
    await until(calm)
    over = await Line.ask(server, f"/api/executions/{rows[0][0].pk}?wait=300", rows[0][1])
    code, head = await over.answer()
    assert code == 429
    assert b"retry-after:" in head.lower()
    for line in lines[limits.MAX_WAITS_PER_USER :]:
        line.leave()
    await until(lambda: held(limits.MAX_WAITS_PER_USER))
    await until(calm)

    def end() -> None:
        assert jobs.request_cancel(Execution, rows[0][0].pk)
        jobs.end_if_cancelled(Execution, rows[0][0].pk)

    await asyncio.to_thread(end)
    answers = await asyncio.gather(*(line.answer() for line in lines[: limits.MAX_WAITS_PER_USER]))
    assert {code for code, _ in answers} == {200}
    await until(lambda: held(0))


async def test_somebody_who_waits_is_told_at_once(server: LiveServer, people: list[tuple[User, str]]) -> None:
    user, api_key = people[0]
    row = await asyncio.to_thread(queued, user)
    line = await Line.ask(server, f"/api/executions/{row.pk}?wait=300", api_key)
    await until(lambda: asyncio.to_thread(lambda: held_places() == 1))
    await asyncio.to_thread(Execution.objects.filter(pk=row.pk).delete)
    code, _ = await line.answer()
    assert code == 404
