"""Reverse proxies without stickiness: a small one of our own, and nginx and Caddy as docker/ sets them up.

TEST_PROXY says which one a run takes. TLS is taken off: clients speak http to the proxy, which says that it was https.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from ssl import SSLContext
from typing import Any, Protocol

from tests.harness import DIE_WITH_PARENT, ROOT, free_port

HEAD_END = b"\r\n\r\n"
MAX_HEAD_BYTES = 64 * 1024
CONNECT_SECONDS = 120.0
PAUSE_SECONDS = 0.05
FORWARDED = b"X-Forwarded-Proto: https\r\nX-Forwarded-For: 127.0.0.1"


NOT_FOR_THE_WORLD = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class AnyProxy(Protocol):
    """What a test needs to know of a proxy."""

    @property
    def url(self) -> str: ...

    def serve(self, ports: Sequence[int]) -> None: ...


class Proxy:
    """Speaks HTTP/1.1 to clients, one request per connection to the servers; websockets pass as they are."""

    def __init__(self, ports: Sequence[int], *, port: int = 0, tls: SSLContext | None = None) -> None:
        self.serve(ports)
        self.port = port
        self._tls = tls
        self._turns = count()
        self._talks: set[asyncio.Task[None] | None] = set()  # asyncio itself would let go of some

    def serve(self, ports: Sequence[int]) -> None:
        self.ports = list(ports)
        self.served = dict.fromkeys(self.ports, 0)

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}"

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(
            self._talk, "127.0.0.1", self.port, limit=MAX_HEAD_BYTES, ssl=self._tls
        )
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._talks.add(asyncio.current_task())
        try:
            head = await reader.readuntil(HEAD_END)
            if head.startswith(b"GET /metrics "):
                writer.write(NOT_FOR_THE_WORLD)
                return
            while not await self._pass_on(head, reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # either side has gone; the other one is told by the closed connection
        finally:
            self._talks.discard(asyncio.current_task())
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
    lines = head[:-4].split(b"\r\n")
    if b"upgrade: websocket" not in head.lower():
        lines = [line for line in lines if not line.lower().startswith(b"connection:")]
        lines.append(b"Connection: close")
    return b"\r\n".join([*lines, FORWARDED]) + HEAD_END


async def pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, last: bool = False) -> None:
    """Pass bytes on as they come; `last` closes the sink at the end of the source."""
    with suppress(OSError):
        while data := await source.read(65_536):
            sink.write(data)
            await sink.drain()
    if last:
        sink.close()


@contextmanager
def round_robin(ports: Sequence[int], **options: Any) -> Iterator[Proxy]:
    """A proxy in a thread of its own."""
    proxy, ready, loop = Proxy(ports, **options), threading.Event(), asyncio.new_event_loop()

    async def serve() -> None:
        async with await proxy.start() as server:
            ready.set()
            with suppress(asyncio.CancelledError):
                await server.serve_forever()

    main = loop.create_task(serve())

    def run() -> None:
        loop.run_until_complete(main)
        left = asyncio.all_tasks(loop)  # conversations nobody ended
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(main.cancel)
        thread.join(60)


# --- the ones people use --------------------------------------------------------------------------


class Program:
    """A proxy of docker/ with its own configuration, on ports of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, ports: Sequence[int]) -> None:
        path = self.folder / "proxy.conf"
        path.write_text(self.configuration(ports))
        with (self.folder / "proxy.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(DIE_WITH_PARENT), str(os.getpid()), *self.command(path)],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | {"HOME": str(self.folder), "SITE_URL": f"http://127.0.0.1:{self.port}"},
            )

    def configuration(self, ports: Sequence[int]) -> str:
        raise NotImplementedError

    def command(self, path: Path) -> list[str]:
        raise NotImplementedError

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)


class Nginx(Program):
    def configuration(self, ports: Sequence[int]) -> str:
        text = (ROOT / "docker" / "nginx.conf").read_text()
        line = re.search(r" +server web-1:8000(.*;)\n +server web-2:8000.*;\n", text)
        assert line is not None
        text = text.replace(line[0], "".join(f"    server 127.0.0.1:{port}{line[1]}\n" for port in ports))
        text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{self.port};")
        text = re.sub(r" +ssl_certificate.*\n", "", text)
        text = text.replace("X-Forwarded-Proto $scheme", "X-Forwarded-Proto https")
        folders = "".join(
            f"{name}_temp_path {self.folder}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        return (
            f"daemon off; master_process off; pid {self.folder}/nginx.pid; error_log stderr warn;\n"
            f"events {{ worker_connections 4096; }}\nhttp {{\naccess_log off;\n{folders}{text}\n}}\n"
        )

    def command(self, path: Path) -> list[str]:
        return [shutil.which("nginx") or "/usr/sbin/nginx", "-e", "stderr", "-c", str(path)]


class Caddy(Program):
    """Before 2.8 it loses the body of a POST that it offers to a second server: those know no rolling restart."""

    def configuration(self, ports: Sequence[int]) -> str:
        text = (ROOT / "docker" / "Caddyfile").read_text()
        servers = " ".join(f"127.0.0.1:{port}" for port in ports)
        text = re.sub(r"dynamic a \{.*?\n\t\t\}", f"to {servers}\n\t\theader_up X-Forwarded-Proto https", text,
                      flags=re.DOTALL)  # fmt: skip
        text = re.sub(r"request_buffers \S+", "buffer_requests", text)  # its name in Debian's version
        return "{\n\tadmin off\n}\n" + text

    def command(self, path: Path) -> list[str]:
        return ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)]


PROGRAMS: dict[str, type[Program]] = {"nginx": Nginx, "caddy": Caddy}


@contextmanager
def program(kind: type[Program], ports: Sequence[int] = ()) -> Iterator[Program]:
    with tempfile.TemporaryDirectory(prefix="proxy-") as folder:
        proxy = kind(Path(folder))
        try:
            if ports:
                proxy.serve(ports)
            yield proxy
        finally:
            proxy.stop()


def proxy_of_this_run() -> AbstractContextManager[AnyProxy]:
    name = os.environ.get("TEST_PROXY", "")
    return program(PROGRAMS[name]) if name else round_robin(())
