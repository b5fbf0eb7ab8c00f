"""What a box uses of the host that neither its folder nor its processes' memory shows.

A file that was unlinked keeps its blocks while somebody has it open or mapped, and what waits in a socket is the
kernel's memory. Where a cgroup limits the box these count there; this is for every other machine.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

BLOCK = 512
DEFAULT_BUFFER_BYTES = 212_992
# "7f00-7f10 rw-s 00001000 fe:01 1234   /box/x (deleted)"
DELETED_MAPPING = re.compile(
    r"^(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) \S+ (?P<offset>[0-9a-f]+) (?P<device>\S+) (?P<inode>[1-9][0-9]*) "
    r".*\(deleted\)$",
    re.MULTILINE,
)
# One row per socket without its queues; those on their way to another process, open in none, included.
SILENT_TABLES = ("unix", "netlink")
TEMPORARY = ("/tmp", "/dev/shm")  # noqa: S108 - inside the box
INTERNET_TABLES = ("tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "icmp", "icmp6")


def unlinked_bytes(processes: Iterable[int]) -> int:
    """Bytes in files that have no name any more but are open or mapped in one of the processes."""
    sizes: dict[tuple[int, int], int] = {}
    for process in processes:
        for file, size in (*open_unlinked(process), *mapped_unlinked(process)):
            sizes[file] = max(size, sizes.get(file, 0))
    return sum(sizes.values())


def open_unlinked(process: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Device and inode of each unlinked file a process has open, and the bytes it takes."""
    try:
        with os.scandir(f"/proc/{process}/fd") as listing:
            names = [entry.path for entry in listing]
    except OSError:  # it has just ended
        return
    for name in names:
        try:
            found = os.stat(name)  # noqa: PTH116 - the link names an open file, not a path
        except OSError:  # closed meanwhile
            continue
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
            yield (found.st_dev, found.st_ino), found.st_blocks * BLOCK


def mapped_unlinked(process: int) -> Iterator[tuple[tuple[int, int], int]]:
    """The same for files that are mapped; a descriptor need not be open for that."""
    try:
        maps = Path(f"/proc/{process}/maps").read_text(errors="replace")
    except OSError:
        return
    for found in DELETED_MAPPING.finditer(maps):
        major, _, minor = found["device"].partition(":")
        size = int(found["offset"], 16) + int(found["end"], 16) - int(found["start"], 16)
        yield (os.makedev(int(major, 16), int(minor, 16)), int(found["inode"])), size


def temporary_entries(process: int) -> int:
    """Files and folders in the box's own file systems in memory: an empty one takes none of their bytes, but ours."""
    try:
        root = os.open(f"/proc/{process}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # it has just ended
        return 0
    try:
        if os.path.samestat(os.fstat(root), Path("/").stat()):  # not in its box yet
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
    """Bytes that sockets in the network namespace of a process hold, or may hold where the kernel does not say."""
    silent = sum(len(table_rows(process, table)) for table in SILENT_TABLES)
    return silent * buffer_bytes() + sum(queued_bytes(process, table) for table in INTERNET_TABLES)


def queued_bytes(process: int, table: str) -> int:
    """What waits to be sent or read: the fifth column, `tx:rx` in hexadecimal."""
    pairs = (row.split()[4].split(":") for row in table_rows(process, table))
    return sum(int(sent, 16) + int(received, 16) for sent, received in pairs)


def table_rows(process: int, table: str) -> list[str]:
    try:
        return Path(f"/proc/{process}/net/{table}").read_text(errors="replace").splitlines()[1:]
    except OSError:  # it has just ended, or the kernel has no such protocol
        return []


@cache
def buffer_bytes() -> int:
    """How much may wait in one socket; the filter lets nobody in a box ask for more."""
    try:
        return int(Path("/proc/sys/net/core/wmem_default").read_text())
    except (OSError, ValueError):
        return DEFAULT_BUFFER_BYTES
