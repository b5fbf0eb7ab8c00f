"""Identity of processes, to see at once that one on this machine is dead."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

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
