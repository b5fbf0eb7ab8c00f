"""Ports: the wanted one, or the next that is free."""

from __future__ import annotations

import errno
import socket

TRIES = 100
MAX_PORT = 65_535
BACKLOG = 1024


class NoFreePort(Exception):
    """No port is free near the wanted one."""


def listen(host: str, wanted: int) -> socket.socket:
    """A socket that listens on `wanted` or on the next free port; who holds it cannot lose the port to anyone."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(wanted, min(wanted + TRIES, MAX_PORT + 1)):
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen(BACKLOG)
        except OSError as error:
            bound.close()
            if error.errno == errno.EADDRINUSE or (error.errno == errno.EACCES and port < 1024):
                continue
            raise NoFreePort(
                f"Cannot listen on {host}:{port}: {error.strerror}. Set HOST to an address of this machine."
            ) from error
        return bound
    raise NoFreePort(f"No port from {wanted} on is free on {host}. Set another one.")


def free_port(host: str, wanted: int) -> int:
    """A port that was free a moment ago, for programs that insist on binding it themselves."""
    with listen(host, wanted) as bound:
        port: int = bound.getsockname()[1]
        return port
