"""The values that go into the sandbox and come out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from durable import limits


class KilledReason(StrEnum):
    """Why a command did not end by itself."""

    TIMEOUT = "timeout"  # the wall clock
    MEMORY = "memory"  # all its processes together
    DISK = "disk"  # all its files together
    CANCELLED = "cancelled"  # nobody wants its result any more
    LIMIT = "limit"  # the kernel: processor time of one process, or size of one file


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """What one command may use."""

    memory_bytes: int = limits.SANDBOX_MEMORY_BYTES  # address space of one process, memory of all of them
    cpu_seconds: int | None = None  # of one process; None: a little more than the time limit
    processes: int = limits.SANDBOX_PROCESSES
    open_files: int = limits.SANDBOX_OPEN_FILES
    file_bytes: int = limits.SANDBOX_FILE_BYTES
    disk_bytes: int = limits.SANDBOX_DISK_BYTES
    disk_entries: int = limits.SANDBOX_DISK_ENTRIES
    tmp_bytes: int = limits.SANDBOX_TMP_BYTES
    output_bytes: int = limits.SANDBOX_OUTPUT_BYTES  # of stdout and of stderr, each


@dataclass(frozen=True, kw_only=True)
class SandboxRequest:
    """A command with the files it finds in its folder; a string is a bash script."""

    command: str | list[str]
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    timeout: float = limits.SANDBOX_SECONDS
    owner: str = ""  # whose slots it takes; empty: nobody's in particular
    limits: SandboxLimits = field(default_factory=SandboxLimits)


@dataclass(frozen=True, kw_only=True)
class CollectedFile:
    """A regular file a command left behind."""

    path: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class SandboxResult:
    """How a command ended. `exit_code` is 128 + the signal when a signal ended it."""

    exit_code: int
    stdout: str
    stderr: str
    truncated: bool = False  # stdout or stderr was longer than is kept
    timed_out: bool = False
    killed_reason: KilledReason | None = None
    files: tuple[CollectedFile, ...] = ()  # new and changed ones
    files_left_out: tuple[str, ...] = ()  # links, devices, and what is too much or too large
