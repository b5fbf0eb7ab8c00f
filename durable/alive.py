"""Signs of life of a process: a file for whoever watches over its container, a line in Redis for `doctor`."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings

from durable import limits
from durable.redis import RedisError, client, key


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
    """Renew the file of this process, where one is wanted."""
    if settings.COPILOT_ALIVE_FILE:
        with suppress(OSError):  # a full disk must not stop the work
            Path(settings.COPILOT_ALIVE_FILE).touch()


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
