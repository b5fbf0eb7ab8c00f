"""What a running box uses altogether: the kernel's own limits count each process and each file alone."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from boundary.sandbox.types import KilledReason, SandboxLimits
from durable import limits as caps

MAX_DEPTH = 128
BLOCK = 512
REST = 10  # scanning may take a tenth of the time


@dataclass(kw_only=True)
class Watch:
    """Looks at memory and disk of one box whenever asked, the disk less often when it has much on it."""

    process: int
    box: Path
    limits: SandboxLimits
    next_look_at: float = 0.0
    next_scan_at: float = 0.0

    def exceeded(self) -> KilledReason | None:
        """Cheap to ask at any time: it looks once per tick."""
        now = time.monotonic()
        if now < self.next_look_at:
            return None
        self.next_look_at = now + caps.SANDBOX_TICK_SECONDS
        if memory_of_tree(self.process) > self.limits.memory_bytes:
            return KilledReason.MEMORY
        if now < self.next_scan_at:
            return None
        over = disk_exceeded(self.box, self.limits)
        self.next_scan_at = time.monotonic() + REST * (time.monotonic() - now)
        return KilledReason.DISK if over else None


def memory_of_tree(process: int) -> int:
    """Bytes that a process and all below it hold for themselves. Orphans in the box fall to its first process."""
    total, stack = 0, [process]
    while stack:
        current = stack.pop()
        total += own_memory(current)
        stack.extend(children(current))
    return total


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


def disk_exceeded(box: Path, limits: SandboxLimits) -> bool:
    """Whether the box holds more than it may, in bytes, in entries or in depth."""
    size, entries = 0, 0
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
