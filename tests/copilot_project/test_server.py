"""The web server as a process: a stop under load leaves nobody without an answer."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from typing import TypeVar

from tests.harness import ROOT

T = TypeVar("T")
CLIENTS = 16
REQUEST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
SECONDS = 120.0
# An application that takes a moment, as a request to the database does.
SERVE = """
import asyncio, sys
from copilot_project.server import make_server

async def application(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(0.01)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"Content-Length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})

make_server(application, sys.argv[1:]).run()
"""


async def test_a_stop_under_load_answers_every_connection_that_was_made() -> None:
    with socket.create_server(("127.0.0.1", 0)) as chosen:
        port: int = chosen.getsockname()[1]
    process = serve(f"tcp:port={port}:interface=127.0.0.1")
    try:
        await until_it_listens(port)
        clients = [asyncio.create_task(ask_until_refused(port)) for _ in range(CLIENTS)]
        await asyncio.sleep(0.3)  # all of them are at it
        process.send_signal(signal.SIGTERM)
        answers = [answer for of_one in await gathered(clients) for answer in of_one]
        assert len(answers) > CLIENTS
        assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers), answers[-CLIENTS:]
    finally:
        end(process)


async def test_a_stopping_process_refuses_new_connections_while_it_answers_the_last_ones() -> None:
    with socket.create_server(("127.0.0.1", 0)) as chosen:
        port: int = chosen.getsockname()[1]
    process = serve(f"tcp:port={port}:interface=127.0.0.1")
    try:
        await until_it_listens(port)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST[:-1])
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(SECONDS):
            await ask_until_refused(port)
        writer.write(REQUEST[-1:])
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()
    finally:
        end(process)


async def test_connections_that_a_stopped_process_leaves_are_answered_by_its_successor() -> None:
    """Under `./copilot up` the supervisor holds the port; a client never sees that a process was replaced."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as bound:
        port: int = bound.getsockname()[1]
        first = serve(f"fd:fileno={bound.fileno()}", keep=bound)
        second = None
        try:
            enough = asyncio.Event()
            clients = [asyncio.create_task(ask_until(enough, port)) for _ in range(CLIENTS)]
            await asyncio.sleep(0.3)
            first.send_signal(signal.SIGTERM)
            second = serve(f"fd:fileno={bound.fileno()}", keep=bound)
            await asyncio.wait_for(asyncio.to_thread(first.wait), SECONDS)
            after = [asyncio.create_task(ask(port)) for _ in range(CLIENTS)]
            later = await gathered(after)
            enough.set()
            answers = [answer for of_one in await gathered(clients) for answer in of_one]
            assert all(answer.startswith(b"HTTP/1.1 200") for answer in [*answers, *later])
        finally:
            for process in filter(None, (first, second)):
                end(process)


def serve(endpoint: str, *, keep: socket.socket | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", SERVE, endpoint],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "copilot_project.settings"},
        pass_fds=[] if keep is None else [keep.fileno()],
    )


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


async def until_it_listens(port: int) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


async def ask_until_refused(port: int) -> list[bytes]:
    """Ask again and again, each time on a new connection as a proxy does; a port that is closed ends it."""
    answers = []
    while True:
        try:
            answers.append(await ask(port))
        except ConnectionRefusedError:
            return answers


async def ask_until(enough: asyncio.Event, port: int) -> list[bytes]:
    answers = []
    while not enough.is_set():
        answers.append(await ask(port))
    return answers


async def ask(port: int) -> bytes:
    """Return the whole answer; empty when the connection was made and then dropped."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(REQUEST)
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def gathered(tasks: list[asyncio.Task[T]]) -> list[T]:
    async with asyncio.timeout(SECONDS):
        return await asyncio.gather(*tasks)
