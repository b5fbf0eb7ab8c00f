"""For how long a supervised process has not reported that it is working."""

from __future__ import annotations

import os
import tempfile
from typing import IO

from durable.liveness import SIGN, SIGN_FD

NEVER = 0


class ChildLiveness:
    """A file in memory to which a process writes the time from its main loop; see `durable.liveness`.

    Each check of the supervisor adds a short time of silence at most. A machine that was suspended, which made every
    process late, therefore adds next to nothing.
    """

    def __init__(self, *, max_seconds_per_check: float) -> None:
        self.silent_seconds = 0.0
        self._max_seconds = max_seconds_per_check
        self._file = open_file()
        self._last = NEVER
        self._checked_at = 0.0

    @property
    def descriptor(self) -> int:
        return self._file.fileno()

    @property
    def environment(self) -> dict[str, str]:
        """The variable that tells the process where to report."""
        return {SIGN_FD: str(self.descriptor)}

    @property
    def has_reported(self) -> bool:
        return self._last != NEVER

    def reset(self, now: float) -> None:
        """Start over, for a process that is about to start."""
        os.pwrite(self.descriptor, SIGN.pack(NEVER), 0)
        self._last, self._checked_at, self.silent_seconds = NEVER, now, 0.0

    def check(self, now: float) -> None:
        """Update `silent_seconds`."""
        (reported,) = SIGN.unpack(os.pread(self.descriptor, SIGN.size, 0))
        passed = min(now - self._checked_at, self._max_seconds)
        self.silent_seconds = 0.0 if reported != self._last else self.silent_seconds + passed
        self._last, self._checked_at = reported, now


def open_file() -> IO[bytes]:
    """Open a file, in memory if possible: a full disk must not look like a frozen process."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("life-sign"), "w+b", buffering=0)
    return tempfile.TemporaryFile("w+b", buffering=0)
