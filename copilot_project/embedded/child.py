"""One supervised process: how it is started, seen to be ready, and stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from copilot_project.embedded.forking import Forked, Process
from copilot_project.embedded.life_sign import LifeSign
from copilot_project.embedded.logs import LogFile
from durable import limits

LEASH = Path(__file__).with_name("leash.py")
FIRST_BACKOFF_SECONDS = 0.2
MAX_BACKOFF_SECONDS = 5.0
STEADY_SECONDS = 10.0
SECONDS_PER_LOOK = 1.0  # that a look at a sign of life counts for; the supervisor looks twice as often


@dataclass(frozen=True, kw_only=True)
class Service:
    """What is to be kept running: a command, or a Python module with its words in a copy of this process."""

    name: str
    command: Sequence[str]
    module: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    ready: Callable[[int], bool] = lambda pid: True
    grace_seconds: float = 5.0
    stop_rank: int = 1
    pass_fds: tuple[int, ...] = ()
    once: bool = False
    gives_signs: bool = False  # of life, by `durable.alive`: ended when it gives none
    hint: str = ""


class Child:
    """A service and its current process."""

    def __init__(self, service: Service, log: LogFile, *, folder: Path) -> None:
        self.service = service
        self.log = log
        self.folder = folder
        self.process: Process | None = None
        self.is_ready = False
        self.starts = 0
        self.pause_seconds = 0.0
        self.restart_at = 0.0
        self.exit_code: int | None = None
        self.sign = LifeSign(most_seconds_per_look=SECONDS_PER_LOOK) if service.gives_signs else None
        self._started_at = 0.0
        self._backoff = FIRST_BACKOFF_SECONDS

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, environment: Mapping[str, str]) -> None:
        """Start it tied to us, in a session of its own: Ctrl-C in the terminal reaches the supervisor alone."""
        told = {**environment, **self.service.environment}
        if self.sign is not None:
            self.sign.reset(time.monotonic())
            told |= self.sign.environment
        with self.log.open() as output:
            self.process = self._fork(told, output) if self.service.module else self._spawn(told, output)
        self.starts += 1
        self.exit_code = None
        self._started_at = time.monotonic()

    def _fork(self, environment: Mapping[str, str], output: IO[bytes]) -> Process:
        service = self.service
        return Forked(
            service.module,
            service.command,
            name=service.name,
            environment=environment,
            output=output,
            keep_fds=self._kept_fds,
        )

    def _spawn(self, environment: Mapping[str, str], output: IO[bytes]) -> Process:
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", str(LEASH), str(os.getpid()), *self.service.command],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=self._kept_fds,
            start_new_session=True,
        )

    @property
    def _kept_fds(self) -> tuple[int, ...]:
        return self.service.pass_fds + ((self.sign.descriptor,) if self.sign is not None else ())

    def is_frozen(self, seconds: float) -> bool:
        """Look for a sign of life: whether there was none for so long, or for longer where it has just started."""
        if self.sign is None or self.process is None or not seconds:
            return False
        self.sign.look(time.monotonic())
        allowed = seconds if self.sign.was_given else max(seconds, limits.FIRST_SIGN_SECONDS)
        return self.sign.silent_seconds >= allowed

    def has_ended(self) -> bool:
        """Whether the process ended since it was last asked; sets when to start it again."""
        if self.process is None or self.process.poll() is None:
            return False
        self.exit_code = self.process.returncode
        self.process = None
        if time.monotonic() - self._started_at > STEADY_SECONDS:
            self._backoff = FIRST_BACKOFF_SECONDS
        self.pause_seconds = self._backoff
        self.restart_at = time.monotonic() + self.pause_seconds
        self._backoff = min(2 * self._backoff, MAX_BACKOFF_SECONDS)
        return True

    @property
    def wants_restart(self) -> bool:
        return self.process is None and not self.service.once

    @property
    def backoff_seconds(self) -> float:
        return max(0.0, self.restart_at - time.monotonic())

    def check_ready(self) -> bool:
        if not self.is_ready and self.process is not None and not self.service.once:
            self.is_ready = self.service.ready(self.pid)
        return self.is_ready

    def terminate(self) -> None:
        if self.process is not None:
            self.process.terminate()

    def kill(self) -> None:
        """The process and everything in its group."""
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return

    def how_it_ended(self) -> str:
        code = self.exit_code or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
