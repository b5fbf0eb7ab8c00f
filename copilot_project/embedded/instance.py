"""The running instance of a home folder: there is one at most, and others can find it."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO


@dataclass(frozen=True, kw_only=True)
class Instance:
    """Where the running system is."""

    pid: int
    url: str
    flower_url: str = ""
    model_url: str = ""


class AlreadyRunning(Exception):
    """Another `up` runs in this home folder."""

    def __init__(self, instance: Instance | None) -> None:
        self.instance = instance
        where = f" at {instance.url} (process {instance.pid})" if instance and instance.url else ""
        super().__init__(f"Ratchet is already running here{where}. Stop that one first, or set COPILOT_HOME.")


class Occupancy:
    """The right to run in a home folder, given back by the kernel when its process ends, however that happens."""

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

    def leave(self) -> None:
        instance_file(self.home).unlink(missing_ok=True)
        self._lock.close()


def instance_file(home: Path) -> Path:
    return home / "up.json"


def read_instance(home: Path) -> Instance | None:
    """What the running instance announced; it may have been killed since: see `is_occupied`."""
    try:
        return Instance(**json.loads(instance_file(home).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def find_instance(home: Path) -> Instance | None:
    """The instance that runs in `home` now."""
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
