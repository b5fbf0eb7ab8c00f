"""Whether a process is alive: its identity, by which others on this machine see that it is dead, and its signals.

The signals are for the supervisor, systemd, a container's health check, and Redis. A process that stops signalling may
be killed. So a signal depends on nothing but the process itself: not on the database, not on Redis, and for the
supervisor not on the disk either."""

from __future__ import annotations

import os
import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from durable import limits
from durable.per_process import PerProcess
from durable.redis import RedisError, client, key

PROC = Path("/proc")
GONE = ("Z", "X")  # killed, but not reaped by its parent yet
STATE, BORN = 0, 19  # index after the name in /proc/<pid>/stat


@dataclass(frozen=True, kw_only=True)
class ProcessIdentity:
    """One process, distinct from all others, also those elsewhere or later with the same pid."""

    machine: str  # this boot of it
    space: str  # the processes that see each other; a container has its own
    pid: int
    born: str

    def __str__(self) -> str:
        return f"{self.machine}/{self.space}/{self.pid}/{self.born}"

    @classmethod
    def parse(cls, text: str) -> ProcessIdentity | None:
        match text.split("/"):
            case [machine, space, pid, born] if pid.isdecimal():
                return cls(machine=machine, space=space, pid=int(pid), born=born)
        return None


def own_identity() -> ProcessIdentity | None:
    """Return the identity of this process; None on systems other than Linux."""
    try:
        machine = (PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
        space = (PROC / "self" / "ns" / "pid").readlink().name
        return ProcessIdentity(machine=machine, space=space, pid=os.getpid(), born=_stat(os.getpid())[BORN])
    except (OSError, IndexError):
        return None


def is_dead(other: ProcessIdentity) -> bool:
    """Return True only if the process is certainly dead; nothing is known of one on another machine."""
    me = own_identity()
    if me is None or (other.machine, other.space) != (me.machine, me.space):
        return False
    try:
        os.kill(other.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # another user's, so it exists
    try:
        stat = _stat(other.pid)
        return stat[STATE] in GONE or stat[BORN] != other.born
    except (OSError, IndexError):
        return False


def _stat(pid: int) -> list[str]:
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


SIGN_FD = "COPILOT_SIGN_FD"
SIGN = struct.Struct("Q")  # when it was given, by the process's own clock; 0 = not yet


class ProcessParts:
    """The loops that share a process with a worker, which signals for all of them while none is stuck."""

    def __init__(self) -> None:
        self.are_joined = False
        self.signalled_at: dict[str, float] = {}

    def work(self) -> bool:
        """Return whether every loop has signalled recently."""
        oldest = min(self.signalled_at.copy().values(), default=time.monotonic())
        return time.monotonic() - oldest < limits.STUCK_PART_SECONDS


parts = PerProcess(ProcessParts)


class LivenessSignal:
    """Signals sent by the loop that does the work, so that a hanging one sends none."""

    def __init__(self, role: str) -> None:
        self.role = role
        self._next = 0.0

    def give(self) -> None:
        """Signal, at most once every few seconds; cheap to call more often."""
        if time.monotonic() < self._next:
            return
        now_here = time.monotonic()
        self._next = now_here + limits.ALIVE_SECONDS
        if parts().are_joined:
            parts().signalled_at[self.role] = now_here
        else:
            touch()
        with suppress(RedisError, OSError):  # without Redis nobody can ask either
            redis: Any = client()
            redis.zadd(key("alive", self.role), {f"{socket.gethostname()}:{os.getpid()}": now()})


def touch() -> None:
    """Signal to the supervisor, systemd and the health check, as far as they are configured."""
    tell_supervisor()
    tell_systemd()
    if settings.COPILOT_ALIVE_FILE:
        with suppress(OSError):  # a full disk must not stop the work
            renew(Path(settings.COPILOT_ALIVE_FILE))


def tell_supervisor() -> None:
    """Write the time where `copilot_project.launcher.child_liveness` reads it."""
    if descriptor := os.environ.get(SIGN_FD):
        with suppress(OSError, ValueError):
            os.pwrite(int(descriptor), SIGN.pack(time.monotonic_ns()), 0)


def tell_systemd() -> None:
    """Send the notification a unit with `WatchdogSec=` expects."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.setblocking(False)
            notify.sendto(b"WATCHDOG=1", "\0" + address[1:] if address.startswith("@") else address)


def renew(file: Path) -> None:
    """Touch the file, which holds the process id for a health check that kills a frozen process."""
    number = str(os.getpid())
    if file.exists() and file.read_text() == number:
        file.touch()
    else:
        file.write_text(number)


def living(role: str) -> list[str]:
    """Return the processes of a role that signalled recently, on any machine."""
    redis: Any = client()
    redis.zremrangebyscore(key("alive", role), "-inf", now() - limits.ALIVE_FRESH_SECONDS)
    found: list[str] = redis.zrange(key("alive", role), 0, -1)
    return found


def now() -> float:
    """Return the time of the Redis server; the clocks of machines may differ."""
    redis: Any = client()
    seconds, microseconds = redis.time()
    return float(seconds + microseconds / 1e6)
