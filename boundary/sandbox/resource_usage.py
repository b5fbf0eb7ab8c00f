"""Measure the total memory and disk usage of a sandbox; kernel limits count each process and each file separately.

Includes usage that neither the workdir nor the processes' memory shows: an unlinked file keeps its blocks while it is
open or mapped, and data waiting in a socket is kernel memory. Where a cgroup limits the sandbox, these count there.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from boundary import limits
from boundary.sandbox.control_groups import Group
from boundary.sandbox.types import KilledReason, SandboxLimits

MAX_DEPTH = 128
REST = 10  # scanning may take a tenth of the time
BLOCK = 512
DEFAULT_BUFFER_BYTES = 212_992
# "7f00-7f10 rw-s 00001000 fe:01 1234   /box/x (deleted)"
DELETED_MAPPING = re.compile(
    r"^(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) \S+ (?P<offset>[0-9a-f]+) (?P<device>\S+) (?P<inode>[1-9][0-9]*) "
    r".*\(deleted\)$",
    re.MULTILINE,
)
# One row per socket without its queues; includes sockets in transit that no process has open.
SILENT_TABLES = ("unix", "netlink")
TEMPORARY = ("/tmp", "/dev/shm")  # noqa: S108 - inside the sandbox
INTERNET_TABLES = ("tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "icmp", "icmp6")


@dataclass(kw_only=True)
class ResourceMeter:
    """Measures memory and disk usage of one sandbox; the disk less often if a scan takes long."""

    process: int
    workdir: Path
    limits: SandboxLimits
    group: Group | None = None
    next_check_at: float = 0.0
    next_scan_at: float = 0.0
    scan_below: int = 0  # free bytes; with less, much was written since the last scan

    def exceeded(self) -> KilledReason | None:
        """Return the limit that is exceeded, or None; measures at most once per tick."""
        now = time.monotonic()
        if now < self.next_check_at:
            return None
        self.next_check_at = now + limits.SANDBOX_TICK_SECONDS
        processes = tree_of(self.process)
        if memory_of(processes) > self.limits.memory_bytes:
            return KilledReason.MEMORY
        if self.group and self.group.ran_out_of_memory():
            return KilledReason.MEMORY
        if sum(map(temporary_entries, processes[1:2])) > self.limits.disk_entries:
            return KilledReason.DISK
        return self.disk_exceeded(processes)

    def disk_exceeded(self, processes: list[int]) -> KilledReason | None:
        now, free = time.monotonic(), free_bytes(self.workdir)
        if now < self.next_scan_at and free > self.scan_below:
            return None
        over = disk_exceeded(self.workdir, self.limits, hidden=unlinked_bytes(processes))
        self.next_scan_at = time.monotonic() + REST * (time.monotonic() - now)
        self.scan_below = free - self.limits.disk_bytes // 4
        return KilledReason.DISK if over else None


def free_bytes(folder: Path) -> int:
    """Return the free bytes on the disk of a folder."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def tree_of(process: int) -> list[int]:
    """Return a process and all its descendants, itself first. Orphans are adopted by the first process inside."""
    found, stack = [], [process]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(children(current))
    return found


def memory_of(processes: list[int]) -> int:
    """Return the private memory of the processes, plus the bytes in the sandbox's sockets."""
    inside = processes[1:2]  # the first is bubblewrap, which stays in the host's network namespace
    return sum(map(own_memory, processes)) + sum(map(socket_bytes, inside))


def own_memory(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # just ended
        return 0
    counted = (line.split() for line in lines if line.startswith(("RssAnon:", "RssShmem:")))
    return sum(int(fields[1]) * 1024 for fields in counted)


def children(process: int) -> list[int]:
    found: list[int] = []
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:  # just ended
        return found
    return found


def disk_exceeded(workdir: Path, limits: SandboxLimits, *, hidden: int) -> bool:
    """Return whether the workdir exceeds a limit on bytes, entries or depth; `hidden` are bytes in unlinked files."""
    size, entries = hidden, 0
    if size > limits.disk_bytes:
        return True
    stack = [(str(workdir), 0)]
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
        except (FileNotFoundError, NotADirectoryError):  # removed in the meantime
            continue
        except OSError:  # unreadable or nested too deeply to be measured
            return True
        if depth > MAX_DEPTH:
            return True
    return False


def unlinked_bytes(processes: Iterable[int]) -> int:
    """Return the bytes in unlinked files that the processes still have open or mapped."""
    sizes: dict[tuple[int, int], int] = {}
    for process in processes:
        for file, size in (*open_unlinked(process), *mapped_unlinked(process)):
            sizes[file] = max(size, sizes.get(file, 0))
    return sum(sizes.values())


def open_unlinked(process: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield device and inode of each unlinked file that a process has open, and its size on disk."""
    try:
        with os.scandir(f"/proc/{process}/fd") as listing:
            names = [entry.path for entry in listing]
    except OSError:  # just ended
        return
    for name in names:
        try:
            found = os.stat(name)  # noqa: PTH116 - the link names an open file, not a path
        except OSError:  # closed in the meantime
            continue
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
            yield (found.st_dev, found.st_ino), found.st_blocks * BLOCK


def mapped_unlinked(process: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the same for mapped files, which need no open descriptor."""
    try:
        maps = Path(f"/proc/{process}/maps").read_text(errors="replace")
    except OSError:
        return
    for found in DELETED_MAPPING.finditer(maps):
        major, _, minor = found["device"].partition(":")
        size = int(found["offset"], 16) + int(found["end"], 16) - int(found["start"], 16)
        yield (os.makedev(int(major, 16), int(minor, 16)), int(found["inode"])), size


def temporary_entries(process: int) -> int:
    """Return the number of entries in the sandbox's tmpfs mounts; even empty files take kernel memory."""
    try:
        root = os.open(f"/proc/{process}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # just ended
        return 0
    try:
        if os.path.samestat(os.fstat(root), Path("/").stat()):  # not in its sandbox yet
            return 0
        return sum(used_entries(f"/proc/self/fd/{root}{folder}") for folder in TEMPORARY)
    finally:
        os.close(root)


def used_entries(folder: str) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:  # not mounted yet
        return 0
    return found.f_files - found.f_ffree


def socket_bytes(process: int) -> int:
    """Return the bytes that sockets in the network namespace hold, or may hold if the kernel does not report it."""
    silent = sum(len(table_rows(process, table)) for table in SILENT_TABLES)
    return silent * buffer_bytes() + sum(queued_bytes(process, table) for table in INTERNET_TABLES)


def queued_bytes(process: int, table: str) -> int:
    """Return the bytes waiting to be sent or read: the fifth column, `tx:rx` in hexadecimal."""
    pairs = (row.split()[4].split(":") for row in table_rows(process, table))
    return sum(int(sent, 16) + int(received, 16) for sent, received in pairs)


def table_rows(process: int, table: str) -> list[str]:
    try:
        return Path(f"/proc/{process}/net/{table}").read_text(errors="replace").splitlines()[1:]
    except OSError:  # just ended, or the kernel has no such protocol
        return []


@cache
def buffer_bytes() -> int:
    """Return the buffer size of a socket, which the seccomp filter does not let a command raise."""
    try:
        return int(Path("/proc/sys/net/core/wmem_default").read_text())
    except (OSError, ValueError):
        return DEFAULT_BUFFER_BYTES
