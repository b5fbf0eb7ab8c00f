"""Keep a set of processes running until a stop signal, and leave none behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FrameType

from copilot_project.launcher import reaper
from copilot_project.launcher.child import Child, Service
from copilot_project.launcher.logs import LogFile

STARTING_TICK_SECONDS = 0.05
RUNNING_TICK_SECONDS = 0.5
STARTS_BEFORE_GIVING_UP = 3
REAPER_SECONDS = 10.0
REPORT_WAITING_SECONDS = 5.0
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(Exception):
    """A stop signal came while the supervisor was starting."""


class NotReady(Exception):
    """A process did not become ready."""

    def __init__(self, child: Child, reason: str) -> None:
        self.child = child
        super().__init__(reason)


class Supervisor:
    """Starts services, restarts those that die or freeze, and stops them in order. Used as a context manager.

    Start processes only from the thread that entered the context: the kernel binds the parent-death signal to the
    thread that forked.
    """

    def __init__(
        self,
        *,
        folder: Path,
        logs: Path,
        say: Callable[[str], None],
        before_start: Callable[[], None] = lambda: None,
        frozen_seconds: float = 0.0,
    ) -> None:
        self.folder = folder
        self.logs = logs
        self.say = say
        self.before_start = before_start
        self.frozen_seconds = frozen_seconds  # of silence after which a process is replaced; 0 = never
        self.mark = secrets.token_hex(8)
        self.children: list[Child] = []
        self.stop_requests = 0
        self._environment: Mapping[str, str] = {}
        self._reaper: subprocess.Popen[str] | None = None
        self._handlers: dict[int, object] = {}
        self._wake, self._waker = socket.socketpair()

    # --- context --------------------------------------------------------------------------------

    def __enter__(self) -> Supervisor:
        for end in (self._wake, self._waker):
            end.setblocking(False)
        self._old_wakeup = signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        for number in STOP_SIGNALS:
            self._handlers[number] = signal.signal(number, self._on_stop_signal)
        self._handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._environment = os.environ | {reaper.MARK: self.mark}
        self._start_reaper()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.stop()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)  # type: ignore[arg-type]
            signal.set_wakeup_fd(self._old_wakeup)
            self._wake.close()
            self._waker.close()

    def _on_stop_signal(self, number: int, frame: FrameType | None) -> None:
        self.stop_requests += 1

    # --- starting -------------------------------------------------------------------------------

    def start(self, service: Service) -> Child:
        child = Child(service, LogFile(self.logs / f"{service.name}.log"), folder=self.folder)
        self.children.append(child)
        if not child.awaits_connection:
            self._start(child)
        return child

    def _start(self, child: Child) -> None:
        self.before_start()
        child.start(self._environment)
        self._send_reaper(f"+{child.pid}")

    def wait(self, done: Callable[[], bool], *, seconds: float) -> bool:
        """Supervise until `done` returns true or the time is up; return whether it did."""
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                return False
            self._tick(STARTING_TICK_SECONDS)
            if self.stop_requests:
                raise StopRequested
        return True

    def wait_until_ready(self, *, seconds: float) -> None:
        """Wait for every service; raise NotReady with the first that is too late or keeps dying."""
        deadline, patience = time.monotonic() + seconds, REPORT_WAITING_SECONDS
        while late := self._late_children():
            left = deadline - time.monotonic()
            if left <= 0:
                raise NotReady(late[0], f"{late[0].service.name} was not ready after {seconds:.0f} s.")
            if not self.wait(lambda: not self._late_children(), seconds=min(left, patience)):
                self.say(f"Waiting for {', '.join(child.service.name for child in self._late_children())}")
                patience *= 2

    def _late_children(self) -> list[Child]:
        for child in self.children:
            if not child.is_ready and child.starts >= STARTS_BEFORE_GIVING_UP and child.process is None:
                raise NotReady(child, f"{child.service.name} keeps stopping ({child.how_it_ended()}).")
        return [child for child in self.children if not child.check_ready()]

    # --- running --------------------------------------------------------------------------------

    def run(self) -> None:
        """Supervise until a stop signal comes."""
        while not self.stop_requests:
            self._tick(RUNNING_TICK_SECONDS)

    def _tick(self, seconds: float) -> None:
        due = [child.backoff_seconds for child in self.children if child.wants_restart]
        listeners = [listener for child in self.children for listener in child.quiet_listeners]
        ready, _, _ = select.select([self._wake, *listeners], [], [], min([seconds, *due]))
        if self._wake in ready:
            self._wake.recv(4096)
        self._check_reaper()
        for child in self.children:
            self._check(child)
            for line in child.log.new_warnings():
                self.say(f"{child.service.name}: {line}")

    def _check(self, child: Child) -> None:
        pid = child.process.pid if child.process else 0
        if child.has_ended():
            self._forget_group(pid)
            if child.service.once:
                child.is_ready = True
            else:
                self.say(
                    f"{child.service.name} stopped ({child.how_it_ended()}); "
                    f"starting it again in {child.pause_seconds:.1f} s"
                )
        if child.wants_restart and child.backoff_seconds == 0:
            self._start(child)
        if child.is_frozen(self.frozen_seconds):
            self._replace(child)

    def _replace(self, child: Child) -> None:
        """Kill a process that has stopped working; the next check starts another."""
        assert child.liveness is not None
        self.say(
            f"{child.service.name} has not responded for {child.liveness.silent_seconds:.0f} s; replacing it"
        )
        child.kill()
        child.liveness.reset(time.monotonic())

    def _forget_group(self, group: int) -> None:
        """Kill what a dead process left in its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        self._send_reaper(f"-{group}")

    # --- stopping -------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop the services rank by rank, each within its grace period; a second signal kills them."""
        patience = self.stop_requests
        for rank in sorted({child.service.stop_rank for child in self.children}):
            ranked = [child for child in self.children if child.service.stop_rank == rank]
            for child in ranked:
                child.terminate()
            self._wait_for_end(ranked, patience)
        self.children.clear()
        self._release_reaper()

    def _wait_for_end(self, ranked: Iterable[Child], patience: int) -> None:
        started = time.monotonic()
        left = [child for child in ranked if child.process is not None]
        while left:
            for child in left:
                late = time.monotonic() - started > child.service.grace_seconds
                if late or self.stop_requests > patience + 1:
                    child.kill()
            left = [child for child in left if not self._ended(child)]
            select.select([], [], [], STARTING_TICK_SECONDS if left else 0)

    def _ended(self, child: Child) -> bool:
        pid = child.pid
        if not child.has_ended():
            return False
        self._forget_group(pid)
        return True

    # --- the reaper -----------------------------------------------------------------------------

    def _start_reaper(self) -> None:
        self._reaper = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", reaper.__file__, self.mark],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _check_reaper(self) -> None:
        if self._reaper is not None and self._reaper.poll() is None:
            return
        self._start_reaper()
        for child in self.children:
            if child.process is not None:
                self._send_reaper(f"+{child.pid}")

    def _send_reaper(self, message: str) -> None:
        assert self._reaper is not None and self._reaper.stdin is not None
        try:
            self._reaper.stdin.write(f"{message}\n")
            self._reaper.stdin.flush()
        except BrokenPipeError:
            return  # the next tick starts another one and sends it every group

    def _release_reaper(self) -> None:
        """Close its pipe, upon which it kills what is left and ends."""
        if self._reaper is None or self._reaper.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            self._reaper.stdin.close()
        self._reaper.wait(REAPER_SECONDS)
        self._reaper = None
