"""Signs of life of a process: for the supervisor, for systemd, a file for a container's health check, a line in Redis.

Whoever watches may end a process that gives none for a while. So a sign depends on nothing but the process itself: not
on the database, not on Redis, and for the supervisor not on the disk either.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings

from durable import limits
from durable.redis import RedisError, client, key

SIGN_FD = "COPILOT_SIGN_FD"
SIGN = struct.Struct("Q")  # when it was given, by the process's own clock; 0 = not yet


class SignOfLife:
    """Given by the loop that does the work, so that one that hangs gives none."""

    def __init__(self, role: str) -> None:
        self.role = role
        self._next = 0.0

    def give(self) -> None:
        """As often as you like: it costs something once in a few seconds only."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + limits.ALIVE_SECONDS
        touch()
        with suppress(RedisError, OSError):  # nobody can ask then either
            redis: Any = client()
            redis.zadd(key("alive", self.role), {f"{socket.gethostname()}:{os.getpid()}": now()})


def touch() -> None:
    """Tell those who watch over this process that it is at work, where somebody does."""
    tell_supervisor()
    tell_systemd()
    if settings.COPILOT_ALIVE_FILE:
        with suppress(OSError):  # a full disk must not stop the work
            renew(Path(settings.COPILOT_ALIVE_FILE))


def tell_supervisor() -> None:
    """Write the time where `copilot_project.embedded.life_sign` reads it."""
    if descriptor := os.environ.get(SIGN_FD):
        with suppress(OSError, ValueError):
            os.pwrite(int(descriptor), SIGN.pack(time.monotonic_ns()), 0)


def tell_systemd() -> None:
    """Send what a unit with `WatchdogSec=` waits for."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.setblocking(False)
            notify.sendto(b"WATCHDOG=1", "\0" + address[1:] if address.startswith("@") else address)


def renew(file: Path) -> None:
    """Its time is the sign; it holds the number of the process, for a health check that ends one that is frozen."""
    number = str(os.getpid())
    if file.exists() and file.read_text() == number:
        file.touch()
    else:
        file.write_text(number)


def living(role: str) -> list[str]:
    """Who of that role gave a sign of life lately, on any machine."""
    redis: Any = client()
    redis.zremrangebyscore(key("alive", role), "-inf", now() - limits.ALIVE_FRESH_SECONDS)
    found: list[str] = redis.zrange(key("alive", role), 0, -1)
    return found


def now() -> float:
    """By the clock of Redis: those of the machines may differ."""
    redis: Any = client()
    seconds, microseconds = redis.time()
    return float(seconds + microseconds / 1e6)
