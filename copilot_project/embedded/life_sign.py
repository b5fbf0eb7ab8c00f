"""The sign of life of one supervised process, and for how long it has not been given."""

from __future__ import annotations

import os
import tempfile
from typing import IO

from durable.alive import SIGN, SIGN_FD

NEVER = 0


class LifeSign:
    """A file in memory that a process renews from the loop that does its work; see `durable.alive`.

    Silence is counted in looks of the supervisor, each for a short time at most. A machine that slept or stood still,
    which made every process late alike, adds next to nothing to it.
    """

    def __init__(self, *, most_seconds_per_look: float) -> None:
        self.silent_seconds = 0.0
        self._most_seconds = most_seconds_per_look
        self._file = open_file()
        self._last = NEVER
        self._looked_at = 0.0

    @property
    def descriptor(self) -> int:
        return self._file.fileno()

    @property
    def environment(self) -> dict[str, str]:
        """What tells the process where to give its sign."""
        return {SIGN_FD: str(self.descriptor)}

    @property
    def was_given(self) -> bool:
        return self._last != NEVER

    def reset(self, now: float) -> None:
        """Begin again, for a process that is about to start."""
        os.pwrite(self.descriptor, SIGN.pack(NEVER), 0)
        self._last, self._looked_at, self.silent_seconds = NEVER, now, 0.0

    def look(self, now: float) -> None:
        """See whether the sign was given since the last look."""
        (given,) = SIGN.unpack(os.pread(self.descriptor, SIGN.size, 0))
        passed = min(now - self._looked_at, self._most_seconds)
        self.silent_seconds = 0.0 if given != self._last else self.silent_seconds + passed
        self._last, self._looked_at = given, now


def open_file() -> IO[bytes]:
    """In memory where that is possible: a full or broken disk must not look like a frozen process."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("life-sign"), "w+b", buffering=0)
    return tempfile.TemporaryFile("w+b", buffering=0)
