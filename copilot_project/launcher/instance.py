"""The running instance of a home folder: at most one, and other commands can find it."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from copilot_project.launcher.errors import CannotStart


@dataclass(frozen=True, kw_only=True)
class Instance:
    """The addresses of a running system."""

    pid: int
    url: str
    flower_url: str = ""
    model_url: str = ""


class AlreadyRunning(CannotStart):
    """Another `up` runs in this home folder."""

    def __init__(self, instance: Instance | None) -> None:
        self.instance = instance
        where = f" at {instance.url} (process {instance.pid})" if instance and instance.url else ""
        super().__init__(f"Ratchet is already running here{where}. Stop it first, or set COPILOT_HOME.")


class HomeLock:
    """The exclusive right to run in a home folder; the kernel releases it however the process ends."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.home = home
        self._lock: IO[str] = (home / "up.lock").open("a")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise AlreadyRunning(read_instance(home)) from None

    def announce(self, instance: Instance) -> None:
        draft = self.home / f".up.{os.getpid()}.json"
        draft.write_text(json.dumps(dataclasses.asdict(instance)))
        draft.rename(instance_file(self.home))

    def release(self) -> None:
        instance_file(self.home).unlink(missing_ok=True)
        self._lock.close()


def instance_file(home: Path) -> Path:
    return home / "up.json"


def read_instance(home: Path) -> Instance | None:
    """Return what the last instance announced; it may have been killed since (see `is_occupied`)."""
    try:
        return Instance(**json.loads(instance_file(home).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def find_instance(home: Path) -> Instance | None:
    """Return the instance that is running in `home`, or None."""
    return read_instance(home) if is_occupied(home) else None


def is_occupied(home: Path) -> bool:
    try:
        with (home / "up.lock").open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
