"""The log file of one process, and the warnings and errors in it."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import IO

MAX_BYTES = 20 * 1024 * 1024
READ_BYTES = 256 * 1024
SHOWN_LINES = 5
SHOWN_SECONDS = 10.0
REMEMBERED_LINES = 50
WARNING_LINE = re.compile(r"\b(WARNING|ERROR|CRITICAL)\b|\[(warning|error|critical)\s*\]")
HARMLESS = re.compile(r"Memory overcommit|Inspect method \w+ failed|running the worker with superuser")


class LogFile:
    """A file that the process appends to itself, so that a slow reader never slows it down; new lines are read here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.rotate()
        self.position = self.size()
        self._shown: list[float] = []
        self._hidden = 0
        self._recent: list[str] = []

    def open(self) -> IO[bytes]:
        return self.path.open("ab")

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def rotate(self) -> None:
        """Keep one older copy and truncate in place, as the process keeps appending to the same file."""
        if self.size() > MAX_BYTES:
            shutil.copyfile(self.path, self.path.with_suffix(".log.1"))
            with self.path.open("r+b") as file:
                file.truncate()
            self.position = 0

    def new_warnings(self) -> list[str]:
        """Return new warnings and errors, a few at a time; the file has the rest."""
        now = time.monotonic()
        self._shown = [at for at in self._shown if now - at < SHOWN_SECONDS]
        shown = []
        for line in self._new_lines():
            if not WARNING_LINE.search(line) or HARMLESS.search(line):
                continue
            if len(self._shown) < SHOWN_LINES and not self._is_repeat(line):
                self._shown.append(now)
                shown.append(line)
            else:
                self._hidden += 1
        if self._hidden and not self._shown:
            shown.append(f"… and {self._hidden} more, in {self.path}")
            self._hidden = 0
        return shown

    def _is_repeat(self, line: str) -> bool:
        """Return whether the same line, apart from its time and numbers, was shown before."""
        words = re.sub(r"[0-9a-f]*\d[0-9a-f]*", "", line)
        repeat = words in self._recent
        self._recent = [*self._recent, words][-REMEMBERED_LINES:]
        return repeat

    def _new_lines(self) -> list[str]:
        if self.size() <= self.position:
            return []
        with self.path.open("rb") as file:
            file.seek(self.position)
            data = file.read(READ_BYTES)
        end = data.rfind(b"\n") + 1 or (len(data) if len(data) == READ_BYTES else 0)
        self.position += end
        self.rotate()
        return data[:end].decode(errors="replace").splitlines()

    def last_lines(self, count: int) -> list[str]:
        with self.path.open("rb") as file:
            file.seek(max(0, self.size() - READ_BYTES))
            return file.read().decode(errors="replace").splitlines()[-count:]
