"""Starting a command in its box and staying with it until nothing of it is left."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from boundary.errors import SandboxBroken
from boundary.sandbox.boxes import hand_over
from boundary.sandbox.command import sandbox_command
from boundary.sandbox.seccomp import seccomp_filter
from boundary.sandbox.slots import claim_slot, slot_uid
from boundary.sandbox.types import KilledReason, SandboxLimits, SandboxResult
from boundary.sandbox.watching import Watch
from durable import limits as caps

READ_BYTES = 64 * 1024
KERNEL_KILLS = frozenset({128 + signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGXFSZ})


def launch(
    command: str | list[str],
    *,
    box: Path,
    timeout: float,
    stdin: bytes = b"",
    limits: SandboxLimits,
    cancelled: Callable[[], bool] = lambda: False,
) -> SandboxResult:
    """Run one command to its end, or end it. When this returns, every process of it is gone."""
    argv = ["/bin/bash", "-c", command] if isinstance(command, str) else command
    if limits.cpu_seconds is None:  # a busy loop then ends by the clock, which can say so
        limits = replace(limits, cpu_seconds=math.ceil(timeout) + caps.SANDBOX_CPU_GRACE_SECONDS)
    with claim_slot() as slot, contextlib.ExitStack() as cleanup:
        hand_over(box, slot_uid(slot))
        run = start(argv, box=box, uid=slot_uid(slot), stdin=stdin, limits=limits, cleanup=cleanup)
        watch = Watch(process=run.process.pid, box=box, limits=limits)
        try:
            run.follow(time.monotonic() + timeout, watch, cancelled)
        finally:
            run.end()
        return run.result()


def start(
    argv: list[str],
    *,
    box: Path,
    uid: int | None,
    stdin: bytes,
    limits: SandboxLimits,
    cleanup: contextlib.ExitStack,
) -> Run:
    """Begin the command; its pipes are closed by `cleanup`."""
    seccomp = cleanup.enter_context(os.fdopen(os.memfd_create("seccomp"), "w+b", buffering=0))
    seccomp.write(seccomp_filter())
    seccomp.seek(0)
    status_read, status_write = os.pipe()
    status = cleanup.enter_context(os.fdopen(status_read, "rb", buffering=0))
    with os.fdopen(status_write, "wb", buffering=0) as status_end:
        chain = sandbox_command(
            argv, box=box, uid=uid, limits=limits, seccomp_fd=seccomp.fileno(), status_fd=status_end.fileno()
        )
        try:
            process = subprocess.Popen(  # noqa: S603 - the sandbox is what makes this safe
                chain,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=(seccomp.fileno(), status_end.fileno()),
                env={},
                cwd="/",
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # a NUL in the command, or too long a one
            raise SandboxBroken(f"The command could not be started: {error}.") from error
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            os.set_blocking(pipe.fileno(), False)
            cleanup.callback(pipe.close)
    os.set_blocking(status.fileno(), False)
    return Run(
        process=process, status_fd=status.fileno(), stdin=memoryview(stdin), limits=limits, cleanup=cleanup
    )


@dataclass(kw_only=True)
class Run:
    """One running command: what it said so far, and how to end it."""

    process: subprocess.Popen[bytes]
    status_fd: int
    stdin: memoryview
    limits: SandboxLimits
    cleanup: contextlib.ExitStack
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    status: bytearray = field(default_factory=bytearray)
    init_fd: int | None = (
        None  # a pidfd of the box's first process: when it ends, the kernel has ended all others
    )
    truncated: bool = False
    killed: KilledReason | None = None

    def follow(self, deadline: float, watch: Watch, cancelled: Callable[[], bool]) -> None:
        """Move bytes until the command has ended or must be ended."""
        with selectors.DefaultSelector() as selector:
            self.register(selector)
            while self.process.poll() is None and self.killed is None:
                for key, _ in selector.select(caps.SANDBOX_TICK_SECONDS):
                    if not key.data():
                        selector.unregister(key.fileobj)
                if self.process.poll() is None:
                    self.killed = reason_to_kill(deadline, watch, cancelled)

    def register(self, selector: selectors.BaseSelector) -> None:
        """Each pipe with what to do when it is ready; False from that means: no more."""
        ended = os.pidfd_open(self.process.pid)
        self.cleanup.callback(os.close, ended)
        selector.register(ended, selectors.EVENT_READ, lambda: False)
        selector.register(self.status_fd, selectors.EVENT_READ, self.read_status)
        for descriptor, output in self.outputs():
            selector.register(
                descriptor, selectors.EVENT_READ, functools.partial(self.read, descriptor, output)
            )
        if self.process.stdin:
            selector.register(self.process.stdin, selectors.EVENT_WRITE, self.write)

    def outputs(self) -> list[tuple[int, bytearray]]:
        assert self.process.stdout and self.process.stderr
        return [(self.process.stdout.fileno(), self.stdout), (self.process.stderr.fileno(), self.stderr)]

    def read(self, descriptor: int, output: bytearray) -> bool:
        """Take what is there, keep what there is room for. The command never waits for us."""
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return True
        room = self.limits.output_bytes - len(output)
        output += data[:room]
        self.truncated |= len(data) > room
        return bool(data)

    def write(self) -> bool:
        """Give the command some of its input, and end it when all is given."""
        assert self.process.stdin
        try:
            self.stdin = self.stdin[os.write(self.process.stdin.fileno(), self.stdin[:READ_BYTES]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:  # it does not want more
            self.stdin = self.stdin[:0]
        if self.stdin:
            return True
        self.process.stdin.close()
        return False

    def read_status(self) -> bool:
        """What bubblewrap reports: first of all the box's first process."""
        try:
            data = os.read(self.status_fd, READ_BYTES)
        except BlockingIOError:
            return True
        self.status += data
        if self.init_fd is None and b"\n" in self.status:
            with contextlib.suppress(ProcessLookupError):  # gone already
                self.init_fd = os.pidfd_open(json.loads(self.status.splitlines()[0])["child-pid"])
                self.cleanup.callback(os.close, self.init_fd)
        return bool(data)

    def end(self) -> None:
        """Kill whatever is left and wait until it is gone; then read the last of its output."""
        self.read_status()
        if self.init_fd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.init_fd, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        try:
            self.process.wait(caps.SANDBOX_KILL_SECONDS)
        except subprocess.TimeoutExpired:
            raise SandboxBroken("A command could not be ended.") from None
        if self.init_fd is not None and not has_ended(self.init_fd):
            raise SandboxBroken("A command could not be ended.")
        deadline = time.monotonic() + caps.SANDBOX_KILL_SECONDS
        for descriptor, output in self.outputs():
            while self.read(descriptor, output):  # every writer is gone, so this ends
                if time.monotonic() > deadline:
                    raise SandboxBroken("A command could not be ended.")

    def result(self) -> SandboxResult:
        code = self.process.returncode
        code = 128 - code if code < 0 else code
        stdout, stderr = (bytes(output).decode("utf-8", "replace") for output in (self.stdout, self.stderr))
        if (
            self.killed is None
            and code != 0
            and not stdout
            and (self.init_fd is None or stderr.startswith("bwrap: "))
        ):
            raise SandboxBroken(f"The sandbox could not be set up: {stderr.strip()[:500]}.")
        killed = self.killed or (KilledReason.LIMIT if code in KERNEL_KILLS else None)
        return SandboxResult(
            exit_code=code,
            stdout=stdout,
            stderr=stderr,
            truncated=self.truncated,
            timed_out=killed == KilledReason.TIMEOUT,
            killed_reason=killed,
        )


def reason_to_kill(deadline: float, watch: Watch, cancelled: Callable[[], bool]) -> KilledReason | None:
    if cancelled():
        return KilledReason.CANCELLED
    if time.monotonic() > deadline:
        return KilledReason.TIMEOUT
    return watch.exceeded()


def has_ended(pidfd: int) -> bool:
    """Wait, with a deadline, until a process is gone."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(caps.SANDBOX_KILL_SECONDS * 1000))
