"""A hostile server: pages, redirects, decompression bombs and endless responses, with a log of its visitors."""

from __future__ import annotations

import contextlib
import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

MEGABYTE = 1024 * 1024
ENDLESS_SECONDS = 60.0
SSL_REQUEST = b"\x04\xd2\x16\x2f"  # of PostgreSQL
CLEARTEXT_PASSWORD = b"R\x00\x00\x00\x08\x00\x00\x00\x03"


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One request as the hostile server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(kw_only=True)
class Stranger:
    """The address of the server, what it serves and who visited it."""

    port: int
    pages: dict[str, tuple[str, bytes]] = field(default_factory=dict)  # path -> media type and body
    visits: list[Visit] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"

    def serve(self, path: str, body: bytes | str, media_type: str = "text/html; charset=utf-8") -> str:
        """Serve this content at the path and return its URL."""
        self.pages[path] = (media_type, body.encode() if isinstance(body, str) else body)
        return self.url(path)

    def visited(self, words: str, path: str = "/") -> bool:
        """Return whether a request below the path contained these words in its URL, headers or body."""
        return any(
            words in f"{visit.path}\n{visit.headers}" or words.encode() in visit.body
            for visit in self.visits
            if visit.path.startswith(path)
        )


@contextlib.contextmanager
def stranger() -> Iterator[Stranger]:
    """Run the server on a free loopback port during the block."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0) or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            local.visits.append(Visit(method=self.command, path=self.path, headers=headers, body=body))
            with contextlib.suppress(OSError):
                answer(self, local)
            self.close_connection = True

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = handle_any

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: visits are recorded."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    local = Stranger(port=server.server_address[1])
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield local
    finally:
        server.shutdown()
        server.server_close()


def answer(request: BaseHTTPRequestHandler, local: Stranger) -> None:
    split = urlsplit(request.path)
    if split.path == "/redirect":
        to = parse_qs(split.query)["to"][0]
        request.send_response(302)
        request.send_header("Location", to)
        request.send_header("Set-Cookie", "stranger=1; Path=/")
        request.end_headers()
    elif split.path == "/bomb":
        send(request, "text/plain", gzip.compress(bytes(100 * MEGABYTE), 9), encoding="gzip")
    elif split.path == "/endless":
        send_endlessly(request)
    else:
        media_type, body = local.pages.get(split.path, ("text/plain", b"A stranger's page."))
        send(request, media_type, body)


def send(request: BaseHTTPRequestHandler, media_type: str, body: bytes, encoding: str = "") -> None:
    request.send_response(200)
    request.send_header("Content-Type", media_type)
    request.send_header("Content-Length", str(len(body)))
    if encoding:
        request.send_header("Content-Encoding", encoding)
    request.end_headers()
    request.wfile.write(body)


def send_endlessly(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "text/plain")
    request.end_headers()
    deadline = time.monotonic() + ENDLESS_SECONDS
    while time.monotonic() < deadline:
        request.wfile.write(b"x" * 65536)


@dataclass(kw_only=True)
class Listener:
    """A server that asks for logins and records what it receives."""

    port: int
    connections: int = 0
    heard: bytearray = field(default_factory=bytearray)


Converse = Callable[[socket.socket, Listener], None]


@contextlib.contextmanager
def listener(converse: Converse, *ports: int) -> Iterator[Listener]:
    """Listen on the first free port of these (0: any) and run this protocol with every client."""
    server = first_free(ports)
    local = Listener(port=server.getsockname()[1])

    def attend(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(5)
            converse(connection, local)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                local.connections += 1
                threading.Thread(target=attend, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield local
    finally:
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


def first_free(ports: tuple[int, ...]) -> socket.socket:
    for port in ports:
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
    return socket.create_server(("127.0.0.1", 0))


def ask_for_password(connection: socket.socket, local: Listener) -> None:
    """Speak PostgreSQL: refuse TLS and ask for the password in clear text."""
    while said := connection.recv(4096):
        local.heard += said
        wants_tls = said[4:8] == SSL_REQUEST
        connection.sendall(b"N" if wants_tls else CLEARTEXT_PASSWORD)


def offer_login(connection: socket.socket, local: Listener) -> None:
    """Speak SMTP without TLS and accept every login."""
    connection.sendall(b"220 mail.example ESMTP\r\n")
    while said := connection.recv(4096):
        local.heard += said
        greets = said.upper().startswith((b"EHLO", b"HELO"))
        connection.sendall(b"250-mail.example\r\n250 AUTH PLAIN LOGIN\r\n" if greets else b"334 \r\n")
