"""Requests, limits and results of the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from boundary import limits


class KilledReason(StrEnum):
    """Why a command was killed."""

    TIMEOUT = "timeout"  # wall-clock time
    MEMORY = "memory"  # all its processes together
    DISK = "disk"  # all its files together
    CANCELLED = "cancelled"  # the caller cancelled it
    LIMIT = "limit"  # by the kernel: CPU time of a process or size of a file


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """Resource limits of one command."""

    memory_bytes: int = limits.SANDBOX_MEMORY_BYTES  # address space per process, and total memory
    cpu_seconds: int | None = None  # per process; None means slightly more than the timeout
    processes: int = limits.SANDBOX_PROCESSES
    open_files: int = limits.SANDBOX_OPEN_FILES
    file_bytes: int = limits.SANDBOX_FILE_BYTES
    disk_bytes: int = limits.SANDBOX_DISK_BYTES
    disk_entries: int = limits.SANDBOX_DISK_ENTRIES
    tmp_bytes: int = limits.SANDBOX_TMP_BYTES
    output_bytes: int = limits.SANDBOX_OUTPUT_BYTES  # for stdout and stderr each


@dataclass(frozen=True, kw_only=True)
class SandboxRequest:
    """A command and the files in its workdir; a string is a bash script."""

    command: str | list[str]
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    timeout: float = limits.SANDBOX_SECONDS
    owner: str = ""  # whose slots it uses; empty means no owner
    limits: SandboxLimits = field(default_factory=SandboxLimits)


@dataclass(frozen=True, kw_only=True)
class CollectedFile:
    """A regular file that a command wrote."""

    path: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class SandboxResult:
    """The result of a command. `exit_code` is 128 + the signal number if a signal killed it."""

    exit_code: int
    stdout: str
    stderr: str
    truncated: bool = False  # stdout or stderr exceeded the limit
    timed_out: bool = False
    killed_reason: KilledReason | None = None
    files: tuple[CollectedFile, ...] = ()  # new and changed files
    files_left_out: tuple[str, ...] = ()  # links, devices, and files beyond the limits
