"""A scripted server that speaks enough of the PostgreSQL protocol to ask for a password, and keeps what it gets."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import ssl
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

SSL_REQUEST, GSS_REQUEST = 80877103, 80877104
ASKS = {
    "clear": struct.pack("!cII", b"R", 8, 3),
    "md5": struct.pack("!cII", b"R", 12, 5) + b"salt",
    "nothing": struct.pack("!cII", b"R", 8, 0),
    "gss": struct.pack("!cII", b"R", 8, 7),
}


@dataclass(kw_only=True)
class HostilePostgres:
    """How the server behaves, who was named to it, and what it was told when it asked for a password."""

    asks: str = "clear"
    tls: ssl.SSLContext | None = None  # None: it says that it has no TLS
    port: int = 0
    encrypted: list[bool] = field(default_factory=list)
    startup: bytes = b""
    told: bytes = b""
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def received(self) -> bytes:
        """Every byte of a connection that is over."""
        assert self.ended.wait(10)
        return self.startup + self.told


@contextlib.contextmanager
def serve_postgres(server: HostilePostgres) -> Iterator[HostilePostgres]:
    class Handler(socketserver.BaseRequestHandler):
        request: socket.socket

        def handle(self) -> None:
            self.request.settimeout(10)
            with contextlib.suppress(OSError, struct.error):
                self.converse()
            server.ended.set()

        def converse(self) -> None:
            while True:
                (length,) = struct.unpack("!I", self.read(4))
                body = self.read(length - 4)
                (code,) = struct.unpack("!I", body[:4])
                if code == SSL_REQUEST and server.tls is not None:
                    self.request.sendall(b"S")
                    self.request = server.tls.wrap_socket(self.request, server_side=True)
                elif code in (SSL_REQUEST, GSS_REQUEST):
                    self.request.sendall(b"N")
                else:
                    break
            server.encrypted.append(isinstance(self.request, ssl.SSLSocket))
            server.startup += body
            self.request.sendall(ASKS[server.asks])
            while data := self.request.recv(4096):
                server.told += data

        def read(self, count: int) -> bytes:
            data = b""
            while len(data) < count:
                if not (part := self.request.recv(count - len(data))):
                    raise ConnectionError
                data += part
            return data

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as listening:
        server.port = listening.server_address[1]
        threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield server
        finally:
            listening.shutdown()
