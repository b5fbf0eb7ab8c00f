"""One supervised process: how it is started, checked and stopped."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from copilot_project import limits
from copilot_project.launcher import die_with_parent
from copilot_project.launcher.child_liveness import ChildLiveness
from copilot_project.launcher.fork import Forked, Process
from copilot_project.launcher.logs import LogFile
from durable.backoff import Backoff

FIRST_BACKOFF_SECONDS = 0.2
MAX_BACKOFF_SECONDS = 5.0
STEADY_SECONDS = 10.0
SECONDS_PER_CHECK = 1.0  # of silence that one check may add; the supervisor checks twice as often


@dataclass(frozen=True, kw_only=True)
class Service:
    """What to keep running: a command, or a Python module with its arguments in a fork of this process."""

    name: str
    command: Sequence[str]
    module: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    ready: Callable[[int], bool] = lambda pid: True
    grace_seconds: float = 5.0
    stop_rank: int = 1
    pass_fds: tuple[int, ...] = ()
    once: bool = False
    reports_liveness: bool = False  # through `durable.liveness`; replaced when it stops doing so
    listener: socket.socket | None = None  # started by the first connection to it, which the process accepts
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
        self.liveness = (
            ChildLiveness(max_seconds_per_check=SECONDS_PER_CHECK) if service.reports_liveness else None
        )
        self._started_at = 0.0
        self._backoff = Backoff(FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the process in its own session, so that Ctrl-C in the terminal reaches only the supervisor."""
        variables = {**environment, **self.service.environment}
        if self.liveness is not None:
            self.liveness.reset(time.monotonic())
            variables |= self.liveness.environment
        with self.log.open() as output:
            self.process = (
                self._fork(variables, output) if self.service.module else self._spawn(variables, output)
            )
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
            [sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid()), *self.service.command],
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
        visited = (self.service.listener.fileno(),) if self.service.listener is not None else ()
        reported = (self.liveness.descriptor,) if self.liveness is not None else ()
        return self.service.pass_fds + visited + reported

    def is_frozen(self, seconds: float) -> bool:
        """Return whether the process has been silent for `seconds`, or longer if it has not reported yet."""
        if self.liveness is None or self.process is None or not seconds:
            return False
        self.liveness.check(time.monotonic())
        allowed = seconds if self.liveness.has_reported else max(seconds, limits.FIRST_SIGN_SECONDS)
        return self.liveness.silent_seconds >= allowed

    def has_ended(self) -> bool:
        """Return whether the process has ended since the last call, and set when to start it again."""
        if self.process is None or self.process.poll() is None:
            return False
        self.exit_code = self.process.returncode
        self.process = None
        if time.monotonic() - self._started_at > STEADY_SECONDS:
            self._backoff.reset()
        self.pause_seconds = self._backoff.next()
        self.restart_at = time.monotonic() + self.pause_seconds
        return True

    @property
    def wants_restart(self) -> bool:
        """Return whether it should run and does not: another start, or the first one after a visit."""
        return self.process is None and not self.service.once and not self.awaits_connection

    @property
    def awaits_connection(self) -> bool:
        """Return whether nothing has to run, because nobody is connected."""
        return bool(self.quiet_listeners)

    @property
    def quiet_listeners(self) -> list[socket.socket]:
        """Return the socket whose first connection starts it, if it is not running and nobody has connected."""
        listener = self.service.listener
        if self.process is not None or listener is None or select.select([listener], [], [], 0)[0]:
            return []
        return [listener]

    @property
    def backoff_seconds(self) -> float:
        return max(0.0, self.restart_at - time.monotonic())

    def check_ready(self) -> bool:
        if self.service.listener is not None:
            return True
        if not self.is_ready and self.process is not None and not self.service.once:
            self.is_ready = self.service.ready(self.pid)
        return self.is_ready

    def terminate(self) -> None:
        if self.process is not None:
            self.process.terminate()

    def kill(self) -> None:
        """Kill the process and everything in its group."""
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return

    def how_it_ended(self) -> str:
        code = self.exit_code or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
