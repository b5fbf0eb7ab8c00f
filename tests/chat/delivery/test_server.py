"""Our server as a process, with real clients on real sockets: origins, codes, back-pressure, goodbyes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings as site
from django.db import connection
from django.test import Client
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.tcp import Port
from twisted.internet.testing import MemoryReactor
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from accounts import tokens
from accounts.api_keys import create_api_key
from accounts.models import User
from chat import limits as chat_limits
from chat.events import ProseDelta, ProseStarted
from chat.models import Message, Turn
from chat.protocol import fold_turn
from copilot_project import limits as copilot_project_limits
from copilot_project.server import stop_listening
from durable import jobs
from executions.models import Agent, Execution
from tests.chat.delivery.fake_worker import FakeWorker, answer
from tests.chat.delivery.live_server import LiveServer
from tests.chat.delivery.sse_client import Received
from tests.chat.delivery.test_consumer import next_turn, reduced, sending
from tests.chat.delivery.ui_reducer import Reducer

WAIT = 60
MEGABYTE = 1024 * 1024
FRAME_BYTES = MEGABYTE // 4  # below what a frame may have


def cookie_header(user: User) -> str:
    client = Client()
    client.force_login(user)
    return f"{site.SESSION_COOKIE_NAME}={client.cookies[site.SESSION_COOKIE_NAME].value}"


async def dial(server: LiveServer, path: str, **headers: str) -> ClientConnection:
    async with asyncio.timeout(WAIT):
        return await connect(server.ws_url + path, additional_headers=headers, proxy=None, max_size=None)


async def code_of(line: ClientConnection) -> int | None:
    async with asyncio.timeout(WAIT):
        while True:
            try:
                await line.recv()
            except ConnectionClosed:
                return line.close_code


async def frames_of(line: ClientConnection, name: str) -> list[dict[str, Any]]:
    frames: list[dict[str, Any]] = []
    async with asyncio.timeout(WAIT):
        while not frames or frames[-1]["type"] not in ("end", "error", "no-active"):
            frame = json.loads(await line.recv())
            if frame["requestId"] == name:
                frames.append(frame)
    return frames


@pytest.fixture
def bearer(ada: User) -> dict[str, str]:
    return {"Authorization": f"Bearer {create_api_key(ada, 'test')}"}


# --- sockets over the wire ------------------------------------------------------------------------


async def test_origins_tickets_and_codes_on_a_real_socket(server: LiveServer, ada: User) -> None:
    cookie = await sync_to_async(cookie_header)(ada)
    for origin in ({}, {"Origin": "null"}, {"Origin": "https://evil.example"}):
        with pytest.raises(InvalidStatus) as refused:
            await dial(server, "/ws/chat/", Cookie=cookie, **origin)
        assert refused.value.response.status_code == 403
    own = {"Origin": server.url}
    assert await code_of(await dial(server, "/ws/chat/", **own)) == 4401
    line = await dial(server, "/ws/chat/", Cookie=cookie, **own)
    await line.send("nonsense")
    assert await code_of(line) == 1008
    line = await dial(server, "/ws/chat/", Cookie=cookie, **own)
    await line.send(b"\x00")
    assert await code_of(line) == 1008
    line = await dial(server, "/ws/chat/", Cookie=cookie, **own)
    await line.send("x" * (chat_limits.MAX_FRAME_BYTES + 1))
    assert await code_of(line) == 1009
    ticket = await sync_to_async(tokens.issue_ticket)(ada)
    line = await dial(server, f"/ws/chat/?ticket={ticket}")
    assert await code_of(await dial(server, f"/ws/chat/?ticket={ticket}")) == 4401
    await line.send(json.dumps({"type": "resume", "requestId": "r", "id": "new"}))
    assert (await frames_of(line, "r"))[0]["type"] == "no-active"
    await line.close()
    with pytest.raises(InvalidStatus):
        await dial(server, "/ws/elsewhere/", Cookie=cookie, **own)


async def test_a_flood_of_frames_is_closed_and_the_server_lives(
    server: LiveServer, bearer: dict[str, str]
) -> None:
    line = await dial(server, "/ws/chat/", **bearer)
    try:
        for _ in range(10_000):
            await line.send('{"type":"abort","requestId":"x"}')
    except ConnectionClosed:
        pass
    assert await code_of(line) == 4429
    line = await dial(server, "/ws/chat/", **bearer)
    await line.send(json.dumps({"type": "resume", "requestId": "r", "id": "new"}))
    assert (await frames_of(line, "r"))[0]["type"] == "no-active"
    await line.close()


async def test_more_sockets_than_a_person_may_have_are_turned_away(
    server: LiveServer, bearer: dict[str, str]
) -> None:
    lines = [await dial(server, "/ws/events/", **bearer) for _ in range(chat_limits.MAX_SOCKETS_PER_USER + 3)]
    codes = await asyncio.gather(*(code_of(line) for line in lines[-3:]))
    assert codes == [4429] * 3
    await asyncio.gather(*(line.close() for line in lines))


async def test_a_message_goes_over_one_socket_and_is_resumed_on_another(
    server: LiveServer, bearer: dict[str, str], ada: User
) -> None:
    line = await dial(server, "/ws/chat/", **bearer)
    await line.send(json.dumps(sending("Hi")))
    turn = await next_turn()
    worker = await sync_to_async(FakeWorker)(turn)
    await sync_to_async(worker.open_step)()
    await sync_to_async(worker.say)("one ", "two ", apart=True)
    async with asyncio.timeout(WAIT):
        while "two" not in str(await line.recv()):
            pass
    await line.close()
    other = await dial(server, "/ws/chat/", **bearer)
    await other.send(json.dumps({"type": "resume", "requestId": "again", "id": "chat-1"}))
    assert json.loads(await other.recv())["type"] == "start"
    await sync_to_async(worker.say)("three")
    await sync_to_async(worker.finish)()
    message = reduced(await frames_of(other, "again"))
    assert "".join(part["text"] for part in message.parts if part["type"] == "text") == "one two three"
    await other.close()


async def test_a_server_that_stops_says_goodbye_and_its_turns_go_on(
    server: LiveServer, bearer: dict[str, str]
) -> None:
    chat = await dial(server, "/ws/chat/", **bearer)
    await chat.send(json.dumps(sending("Hi")))
    turn = await next_turn()
    events = await dial(server, "/ws/events/", **bearer)
    worker = await sync_to_async(FakeWorker)(turn)
    server.process.terminate()
    assert await code_of(chat) == 1001
    assert await code_of(events) == 1001
    assert await asyncio.to_thread(server.process.wait, WAIT) == 0
    await sync_to_async(worker.finish)()
    await turn.arefresh_from_db()
    assert turn.status == "completed"


def test_who_was_let_in_before_the_stop_is_answered_however_late_they_ask(server: LiveServer) -> None:
    """A proxy under load may connect now and send what it has a second later; a POST is not sent twice."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=WAIT) as line:
        httpx.get(f"{server.url}/healthz", trust_env=False, timeout=WAIT)  # by now the line was taken as well
        server.process.terminate()
        time.sleep(1.0)  # longer than it waits for somebody whom it does not know of
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert line.recv(64).startswith(b"HTTP/1.1 200")
    assert server.process.wait(WAIT) == 0


def test_all_who_stood_at_the_door_when_the_stop_came_are_let_in_and_answered(server: LiveServer) -> None:
    """On a loaded machine many connections wait in the kernel's queue; closing the port resets those not accepted."""
    os.kill(server.process.pid, signal.SIGSTOP)
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=WAIT) for _ in range(40)]
    server.process.terminate()
    os.kill(server.process.pid, signal.SIGCONT)
    with contextlib.ExitStack() as opened:
        for line in lines:
            opened.enter_context(line)
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert [line.recv(12) for line in lines] == [b"HTTP/1.1 200"] * len(lines)
    assert server.process.wait(WAIT) == 0


def test_a_port_is_closed_with_nobody_left_at_the_door() -> None:
    """Twisted by itself takes as many as came the last time, and closes the port a moment later."""
    built: list[object] = []

    class Door(Factory[Protocol]):
        def buildProtocol(self, addr: object) -> Protocol:
            built.append(addr)
            return Protocol()

    reactor: Any = MemoryReactor()  # type: ignore[no-untyped-call]
    port: Any = Port(0, Door(), interface="127.0.0.1", reactor=reactor)  # type: ignore[arg-type]
    port.startListening()
    address = port.getHost()
    lines = [socket.create_connection((address.host, address.port), timeout=WAIT) for _ in range(40)]
    port.numberAccepts = 1
    stop_listening(port)
    assert len(built) == len(lines)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.host, address.port), timeout=WAIT)
    for line in lines:
        line.setblocking(False)
        with pytest.raises(BlockingIOError):  # open, and nothing to read
            line.recv(1)
        line.close()


def test_who_waits_for_an_execution_hears_how_far_it_is_when_the_server_stops(
    server: LiveServer, bearer: dict[str, str], ada: User
) -> None:
    agent = Agent.objects.create(user=ada, name="slow", latest_version=1)
    queued = Execution.objects.create(user=ada, agent=agent, version=1, status=Execution.QUEUED)
    with ThreadPoolExecutor(1) as caller:
        asked = caller.submit(
            httpx.get,
            f"{server.url}/api/executions/{queued.pk}?wait=300",
            headers=bearer,
            trust_env=False,
            timeout=WAIT,
        )
        time.sleep(1.0)  # long enough to be waiting; if it is not yet, it hears the same a moment later
        server.process.terminate()
        answer = asked.result()
    assert (answer.status_code, answer.json()["status"]) == (200, "QUEUED")
    assert server.process.wait(WAIT) == 0


# --- streams over the wire ------------------------------------------------------------------------


def test_a_stream_over_http_is_cut_anywhere_and_goes_on(
    server: LiveServer, bearer: dict[str, str], turn: Turn
) -> None:
    answer(turn, *"abcdefghij")
    path = f"{server.url}/api/turns/{turn.pk}/stream"
    with httpx.Client(headers=bearer, trust_env=False, timeout=WAIT) as client:
        whole = Received()
        whole.take(client.get(path).content)
        pieced: list[str] = []
        last = ""
        while True:
            with client.stream("GET", path, headers={"Last-Event-ID": last} if last else {}) as response:
                assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
                lines = response.iter_lines()
                fields = [line for line in lines if line and not line.startswith(":")][:2]
            data = fields[-1].removeprefix("data: ")
            pieced.append(data)
            if data == "[DONE]":
                break
            last = fields[0].removeprefix("id: ")
    assert pieced == whole.data


def test_a_client_that_leaves_frees_its_stream(
    server: LiveServer, bearer: dict[str, str], turn: Turn
) -> None:
    from durable import event_log
    from durable.redis import client as redis

    worker = FakeWorker(turn)
    channel = event_log.stream_key(turn.pk)

    def listeners() -> int:
        return int(redis().pubsub_numsub(channel)[0][1])

    path = f"{server.url}/api/turns/{turn.pk}/stream"
    with httpx.stream("GET", path, headers=bearer, trust_env=False, timeout=WAIT) as response:
        lines = response.iter_lines()  # held: when it is gone, so is the connection
        assert next(lines)
        eventually(lambda: listeners() == 1)
    eventually(lambda: listeners() == 0)
    worker.finish()


def test_the_same_turn_by_sse_and_socket_is_the_same_message(
    server: LiveServer, bearer: dict[str, str], ada: User
) -> None:
    async def by_socket() -> Reducer:
        line = await dial(server, "/ws/chat/", **bearer)
        await line.send(json.dumps(sending("Hi", chat="both")))
        turn = await next_turn()
        reading = asyncio.create_task(frames_of(line, "r1"))
        streaming = asyncio.to_thread(
            httpx.get, f"{server.url}/api/chat/both/stream", headers=bearer, trust_env=False, timeout=WAIT
        )
        stream = asyncio.create_task(streaming)
        await sync_to_async(answer)(turn, "Hello ", "both")
        received = Received()
        response = await stream
        if response.status_code == 200:
            received.take(response.content)
            assert Reducer().hear_all(received.bodies).parts[1]["text"] == "Hello both"
        message = reduced(await reading)
        await line.close()
        return message

    assert asyncio.run(by_socket()).parts[1]["text"] == "Hello both"


@pytest.mark.parametrize("end", [jobs.mark_failed, jobs.force_cancel])
def test_readers_of_a_turn_ended_by_force_while_it_streams_end_with_what_the_database_has(
    server: LiveServer, bearer: dict[str, str], turn: Turn, end: Callable[..., bool]
) -> None:
    """Over SSE and over a socket; its worker goes on talking, for it has not heard of the end."""
    worker = FakeWorker(turn)
    worker.open_step()
    worker.emit(ProseStarted("text", "s0-p0"))

    def talk(stop: threading.Event) -> None:
        while not stop.is_set():
            worker.emit(ProseDelta("text", "s0-p0", "word "))
            worker.lease.emitter.flush(1)

    async def by_socket(seen: asyncio.Event) -> tuple[list[str], bool]:
        line = await dial(server, "/ws/chat/", **bearer)
        await line.send(json.dumps({"type": "resume", "requestId": "r", "id": str(turn.session_id)}))
        frames: list[dict[str, Any]] = []
        while not frames or frames[-1]["type"] != "end":
            frames.append(json.loads(await line.recv()))
            if len(frames) > 5:
                seen.set()
        await line.close()
        bodies = [json.dumps(frame["chunk"]) for frame in frames if frame["type"] == "chunk"]
        return bodies, any(frame.get("chunk", {}).get("type") == "finish" for frame in frames)

    async def scenario() -> tuple[Received, tuple[list[str], bool]]:
        stop, seen, received = threading.Event(), asyncio.Event(), Received()
        talking = asyncio.create_task(asyncio.to_thread(talk, stop))
        path = f"{server.url}/api/turns/{turn.pk}/stream"
        streaming = asyncio.to_thread(httpx.get, path, headers=bearer, trust_env=False, timeout=WAIT)
        stream, socket_reader = asyncio.create_task(streaming), asyncio.create_task(by_socket(seen))
        async with asyncio.timeout(WAIT):
            await seen.wait()
            assert await sync_to_async(end)(Turn, turn.pk)
            received.take((await stream).content)
            frames = await socket_reader
        stop.set()
        await talking
        return received, frames

    received, (frames, finished) = asyncio.run(scenario())
    said = Message.objects.get(pk=turn.answer_id).text
    assert said.startswith("word word")
    assert fold_turn(received.bodies).text == said.strip()
    if finished:  # else it was told to fetch anew, as it cannot take words back
        assert fold_turn(frames).text == said.strip()


# --- back-pressure --------------------------------------------------------------------------------


@pytest.fixture
def flooding(redis_server: object, transactional_db: None) -> Iterator[Callable[..., LiveServer]]:
    servers: list[LiveServer] = []

    def start(*, stall_seconds: float) -> LiveServer:
        server = LiveServer(str(stall_seconds), module="tests.chat.delivery.flood")
        servers.append(server)
        return server.__enter__()

    yield start
    for server in servers:
        server.__exit__()


def open_and_never_read(server: LiveServer, path: str, *, upgrade: bool) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", server.port))
    headers = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
    if upgrade:
        headers += "Upgrade: websocket\r\nConnection: Upgrade\r\nOrigin: http://localhost\r\n"
        headers += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    line.sendall(f"{headers}\r\n".encode())
    return line


@pytest.mark.parametrize("upgrade", [True, False], ids=["websocket", "response"])
def test_clients_that_never_read_cost_the_server_next_to_nothing(
    flooding: Callable[..., LiveServer], upgrade: bool
) -> None:
    """300 MB are sent to each of ten; the server holds none of it, and answers others meanwhile."""
    server = flooding(stall_seconds=60)
    before = server.resident_bytes
    lines = [open_and_never_read(server, "/flood", upgrade=upgrade) for _ in range(10)]
    highest = before
    for _ in range(30):
        assert httpx.get(f"{server.url}/", trust_env=False, timeout=WAIT).text == "done"
        highest = max(highest, server.resident_bytes)
        time.sleep(0.05)
    for line in lines:
        line.close()
    growth = (highest - before) / MEGABYTE
    print(f"growth with ten clients that never read: {growth:.1f} MB")
    assert growth < 60


def test_a_client_that_talks_faster_than_it_is_heard_has_to_wait(flooding: Callable[..., LiveServer]) -> None:
    server = flooding(stall_seconds=60)
    before = server.resident_bytes
    frames_per_megabyte = MEGABYTE // FRAME_BYTES

    async def talk() -> int:
        line = await dial(server, "/deaf")
        sent = 0
        try:
            async with asyncio.timeout(3):
                while sent < 300 * frames_per_megabyte:
                    await line.send("x" * FRAME_BYTES)
                    sent += 1
        except TimeoutError:
            pass
        line.transport.abort()
        return sent

    assert asyncio.run(talk()) < 150 * frames_per_megabyte
    assert (server.resident_bytes - before) / MEGABYTE < 100


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "in chunks"])
def test_a_body_that_is_too_large_is_refused_before_it_fills_the_disk(
    server: LiveServer, chunked: bool
) -> None:
    line = socket.create_connection(("127.0.0.1", server.port))
    line.settimeout(WAIT)
    size = copilot_project_limits.MAX_REQUEST_BYTES + 1
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
    head = f"POST /api/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n{length}\r\n\r\n"
    line.sendall(head.encode())
    if chunked:
        piece = f"{MEGABYTE:x}\r\n".encode() + b"x" * MEGABYTE + b"\r\n"
        with contextlib.suppress(OSError):
            for _ in range(size // MEGABYTE + 2):
                line.sendall(piece)
    assert line.recv(64).startswith(b"HTTP/1.1 413 ")
    line.close()


def test_a_socket_that_stalls_is_let_go_with_4408(flooding: Callable[..., LiveServer]) -> None:
    """Slow but alive: it reads what is on the way, then why it was let go."""
    server = flooding(stall_seconds=0.5)
    line = open_and_never_read(server, "/flood", upgrade=True)
    line.settimeout(WAIT)
    eventually(lambda: httpx.get(f"{server.url}/let-go", trust_env=False, timeout=WAIT).text == "1")
    last = b""
    while not last.endswith(b"\x88\x02" + (4408).to_bytes(2, "big")):
        piece = line.recv(MEGABYTE)
        assert piece, "The connection ended without a word."
        last = (last + piece)[-4:]
    line.close()


@pytest.mark.parametrize("upgrade", [True, False], ids=["websocket", "response"])
def test_a_client_that_is_dead_is_cut_off(flooding: Callable[..., LiveServer], upgrade: bool) -> None:
    server = flooding(stall_seconds=0.5)
    line = open_and_never_read(server, "/flood", upgrade=upgrade)
    deadline = time.monotonic() + WAIT
    while open_connections(server.port):
        assert time.monotonic() < deadline, "The connection was never closed."
        time.sleep(0.05)
    line.close()


def test_one_that_reads_gets_everything(flooding: Callable[..., LiveServer]) -> None:
    server = flooding(stall_seconds=30)

    async def read_all() -> int:
        line = await dial(server, "/flood")
        total = 0
        async for message in line:
            total += len(message)
        return total

    assert asyncio.run(read_all()) == 300 * MEGABYTE
    with httpx.stream("GET", f"{server.url}/flood", trust_env=False, timeout=WAIT) as response:
        assert sum(len(piece) for piece in response.iter_bytes()) == 300 * MEGABYTE + len("done")


def open_connections(port: int) -> int:
    """Connections the server's side still holds, as the kernel sees them."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    local = f":{port:04X}"
    return sum(row[1].endswith(local) and row[3] == "01" for row in rows)


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < deadline, "It never came to that."
        time.sleep(0.02)


def test_open_streams_and_sockets_hold_no_database_connection(
    server: LiveServer, bearer: dict[str, str], turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seventy-five at once: more than there are connections, and the API still answers.

    On SQLite a thread keeps its connection for its next look: there may be as many as threads, never as streams.
    """
    kept_by_threads = chat_limits.DELIVERY_THREADS if connection.vendor == "sqlite" else 0
    worker = FakeWorker(turn)
    path = f"{server.url}/api/turns/{turn.pk}/stream"

    async def hold_open() -> int:
        limits_of_client = httpx.Limits(max_connections=100)
        async with (
            httpx.AsyncClient(
                headers=bearer, trust_env=False, timeout=WAIT, limits=limits_of_client
            ) as client,
            contextlib.AsyncExitStack() as stack,
        ):
            for _ in range(60):
                response = await stack.enter_async_context(client.stream("GET", path))
                pieces = response.aiter_bytes()
                stack.push_async_callback(pieces.aclose)  # type: ignore[attr-defined]
                while b'"type":"start"' not in await anext(pieces):
                    pass
            for _ in range(15):
                line = await dial(server, "/ws/chat/", **bearer)
                stack.push_async_callback(line.close)
                await line.send(json.dumps({"type": "resume", "requestId": "r", "id": str(turn.session_id)}))
                assert json.loads(await line.recv())["type"] == "start"
            assert (await client.get(f"{server.url}/api/sessions")).status_code == 200
            lowest = 1_000
            for _ in range(500):
                lowest = min(lowest, await asyncio.to_thread(database_connections, server))
                if lowest <= 3 + kept_by_threads:
                    break
                await asyncio.sleep(0.02)
            return lowest

    assert asyncio.run(hold_open()) <= 3 + kept_by_threads
    worker.finish()


def database_connections(server: LiveServer) -> int:
    """What the server holds now: open files of SQLite, or backends of PostgreSQL that are not ours."""
    if connection.vendor == "sqlite":
        name = str(connection.settings_dict["NAME"])
        links = [
            link.readlink() for link in Path(f"/proc/{server.process.pid}/fd").iterdir() if link.is_symlink()
        ]
        return sum(str(link) == name for link in links)
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_stat_activity where datname = current_database() and state <> 'idle' "
            "and pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize(
    ("host", "port", "endpoint"),
    [
        ("", "", "tcp:port=8000:interface=127.0.0.1"),
        ("0.0.0.0", "80", "tcp:port=80:interface=0.0.0.0"),
        ("::1", "80", r"tcp:port=80:interface=\:\:1"),
    ],
)
def test_host_and_port_say_where_it_listens(
    host: str, port: str, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from copilot_project.server import default_endpoint

    monkeypatch.setenv("HOST", host)
    monkeypatch.setenv("PORT", port)
    assert default_endpoint() == endpoint
