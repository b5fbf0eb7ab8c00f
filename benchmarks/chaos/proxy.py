"""TCP proxies that cut connections at a random byte, forward bytes slowly, or stall."""

from __future__ import annotations

import random
import socket
import threading
import time
from contextlib import suppress

CHUNK = 512


class Proxy:
    """Listens on its own port and forwards everything to another."""

    def __init__(self, target: int, *, cut_within: int = 0, bytes_per_second: float = 0.0) -> None:
        self.target = target
        self.cut_within = cut_within
        self.bytes_per_second = bytes_per_second
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self.target), 5) as server:
            threading.Thread(target=self._pass_up, args=(client, server), daemon=True).start()
            self._pass_down(server, client)

    def _pass_up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _pass_down(self, server: socket.socket, client: socket.socket) -> None:
        """Forward to the client, up to the byte where this connection is cut."""
        left = random.randint(1, self.cut_within) if self.cut_within else -1
        while data := server.recv(CHUNK):
            if 0 <= left <= len(data):
                client.sendall(data[:left])
                self.cuts += 1
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
                return
            left -= len(data) if left > 0 else 0
            client.sendall(data)
            if self.bytes_per_second:
                time.sleep(len(data) / self.bytes_per_second)


class Gateway:
    """Passes everything on to a server, until it is told to refuse connections or to fall silent.

    Silent means what a dead host behind a load balancer looks like: connections are accepted and stay open, and no
    byte comes through either way.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.refuses = False
        self._speaks = threading.Event()
        self._speaks.set()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def fall_silent(self) -> None:
        self._speaks.clear()

    def recover(self) -> None:
        """Serve again; cut the connections that were open meanwhile, as happens to such connections sooner or later."""
        self.refuses = False
        self._cut()
        self._speaks.set()

    def refuse(self) -> None:
        """Cut all open connections, and every new one at once."""
        self.refuses = True
        self._cut()

    def close(self) -> None:
        self._listener.close()
        self.refuse()

    def _cut(self) -> None:
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            self._speaks.wait()
            if self.refuses:
                return
            with socket.create_connection(("127.0.0.1", self.target), 5) as server:
                server.settimeout(None)
                self._open |= {client, server}
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()
                self._pass_on(server, client)
                self._open -= {client, server}

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self._speaks.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
