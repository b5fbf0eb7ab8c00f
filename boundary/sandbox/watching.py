"""What a running box uses altogether: the kernel's own limits count each process and each file alone."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from boundary.sandbox.control_groups import Group
from boundary.sandbox.hidden_usage import BLOCK, socket_bytes, temporary_entries, unlinked_bytes
from boundary.sandbox.types import KilledReason, SandboxLimits
from durable import limits as caps

MAX_DEPTH = 128
REST = 10  # scanning may take a tenth of the time


@dataclass(kw_only=True)
class Watch:
    """Looks at memory and disk of one box whenever asked, the disk less often when it has much on it."""

    process: int
    box: Path
    limits: SandboxLimits
    group: Group | None = None
    next_look_at: float = 0.0
    next_scan_at: float = 0.0
    scan_below: int = 0  # bytes free on the disk: with less, somebody has written much since the last scan

    def exceeded(self) -> KilledReason | None:
        """Cheap to ask at any time: it looks once per tick."""
        now = time.monotonic()
        if now < self.next_look_at:
            return None
        self.next_look_at = now + caps.SANDBOX_TICK_SECONDS
        processes = tree_of(self.process)
        if memory_of(processes) > self.limits.memory_bytes:
            return KilledReason.MEMORY
        if self.group and self.group.ran_out_of_memory():
            return KilledReason.MEMORY
        if sum(map(temporary_entries, processes[1:2])) > self.limits.disk_entries:
            return KilledReason.DISK
        return self.disk_exceeded(processes)

    def disk_exceeded(self, processes: list[int]) -> KilledReason | None:
        now, free = time.monotonic(), free_bytes(self.box)
        if now < self.next_scan_at and free > self.scan_below:
            return None
        over = disk_exceeded(self.box, self.limits, hidden=unlinked_bytes(processes))
        self.next_scan_at = time.monotonic() + REST * (time.monotonic() - now)
        self.scan_below = free - self.limits.disk_bytes // 4
        return KilledReason.DISK if over else None


def free_bytes(folder: Path) -> int:
    """How much the disk of a folder has left, for everybody on it."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def tree_of(process: int) -> list[int]:
    """A process and all below it, itself first. Orphans in the box fall to its first process."""
    found, stack = [], [process]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(children(current))
    return found


def memory_of(processes: list[int]) -> int:
    """Bytes that the processes of a tree hold for themselves, and those in the sockets of their box."""
    in_box = processes[1:2]  # the first is bubblewrap, which stays in the host's network namespace
    return sum(map(own_memory, processes)) + sum(map(socket_bytes, in_box))


def own_memory(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # it has just ended
        return 0
    counted = (line.split() for line in lines if line.startswith(("RssAnon:", "RssShmem:")))
    return sum(int(fields[1]) * 1024 for fields in counted)


def children(process: int) -> list[int]:
    found: list[int] = []
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:  # it has just ended
        return found
    return found


def disk_exceeded(box: Path, limits: SandboxLimits, *, hidden: int) -> bool:
    """Whether the box holds more than it may, in bytes (`hidden` are those of unlinked files), entries or depth."""
    size, entries = hidden, 0
    if size > limits.disk_bytes:
        return True
    stack = [(str(box), 0)]
    while stack:
        folder, depth = stack.pop()
        try:
            with os.scandir(folder) as listing:
                for entry in listing:
                    entries += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        stack.append((entry.path, depth + 1))
                    if entries > limits.disk_entries or size > limits.disk_bytes:
                        return True
        except (FileNotFoundError, NotADirectoryError):  # removed meanwhile
            continue
        except OSError:  # locked or nested so that it cannot be measured
            return True
        if depth > MAX_DEPTH:
            return True
    return False
