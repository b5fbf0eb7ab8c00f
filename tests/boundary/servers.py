"""Real HTTP servers on the loopback, a resolver that answers from a list, a network that records and reroutes."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

import httpcore

from boundary.addresses import Address
from boundary.errors import HostNotFound


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Answer = Callable[[BaseHTTPRequestHandler, Received], None]


@dataclass(kw_only=True)
class LocalServer:
    port: int
    received: list[Received] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"


@contextlib.contextmanager
def serve(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[LocalServer]:
    """A server that hands every request to `answer` and remembers it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received = Received(method=self.command, path=self.path, headers=headers, body=body)
            local.received.append(received)
            with contextlib.suppress(ConnectionError):
                answer(self, received)
            self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        local = LocalServer(port=server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield local
        finally:
            server.shutdown()


def reply(
    handler: BaseHTTPRequestHandler,
    body: bytes = b"",
    *,
    status: int = 200,
    headers: Iterable[tuple[str, str]] = (),
) -> None:
    """One plain answer."""
    handler.send_response(status)
    for name, value in headers:
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@dataclass(kw_only=True)
class ListedResolver:
    """Answers from a list per name: the first call with the first answer, and so on."""

    answers: dict[str, list[list[str]]]
    asked: list[str] = field(default_factory=list)

    def resolve(self, host: str, port: int, seconds: float) -> list[Address]:
        self.asked.append(host)
        if not self.answers.get(host):
            raise HostNotFound
        return [ip_address(text) for text in self.answers[host].pop(0)]


@dataclass
class Rerouted(httpcore.NetworkBackend):
    """Records each connection and leads those in `routes` to a local port; every other one is refused."""

    routes: dict[str, int] = field(default_factory=dict)
    connected: list[tuple[str, int]] = field(default_factory=list)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        self.connected.append((host, port))
        if host not in self.routes:
            raise httpcore.ConnectError("refused")
        return httpcore.SyncBackend().connect_tcp("127.0.0.1", self.routes[host], timeout=timeout)


@contextlib.contextmanager
def listen() -> Iterator[socket.socket]:
    """A bare listening socket for servers that break HTTP on purpose."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener
