"""Other processes of this machine: whether one that held jobs is dead, known at once and not by its silence."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
GONE = ("Z", "X")  # killed, and its parent has not asked yet
STATE, BORN = 0, 19  # in what follows the name in /proc/<pid>/stat


@dataclass(frozen=True, kw_only=True)
class Identity:
    """One process, told apart from all others: also from one elsewhere, or later, that has the same number."""

    machine: str  # this boot of it
    space: str  # the processes that see each other; a container has its own
    pid: int
    born: str

    def __str__(self) -> str:
        return f"{self.machine}/{self.space}/{self.pid}/{self.born}"

    @classmethod
    def parse(cls, text: str) -> Identity | None:
        match text.split("/"):
            case [machine, space, pid, born] if pid.isdecimal():
                return cls(machine=machine, space=space, pid=int(pid), born=born)
        return None


def mine() -> Identity | None:
    """Who this process is; None where the system does not tell, as it does only on Linux."""
    try:
        machine = (PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
        space = (PROC / "self" / "ns" / "pid").readlink().name
        return Identity(machine=machine, space=space, pid=os.getpid(), born=_stat(os.getpid())[BORN])
    except (OSError, IndexError):
        return None


def is_dead(other: Identity) -> bool:
    """True only when it is certain: of a process elsewhere nothing is known, and it may only be slow."""
    me = mine()
    if me is None or (other.machine, other.space) != (me.machine, me.space):
        return False
    try:
        os.kill(other.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # somebody else's, so it is there
    try:
        stat = _stat(other.pid)
        return stat[STATE] in GONE or stat[BORN] != other.born
    except (OSError, IndexError):
        return False


def _stat(pid: int) -> list[str]:
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
