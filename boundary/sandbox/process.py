"""Start a command in the sandbox and supervise it until all its processes are gone."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import re
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from boundary import limits as caps
from boundary.errors import SandboxBroken
from boundary.sandbox.command import bwrap_arguments, sandbox_command
from boundary.sandbox.control_groups import Group, open_group
from boundary.sandbox.resource_usage import ResourceMeter
from boundary.sandbox.seccomp import seccomp_filter
from boundary.sandbox.slots import claim_slot, slot_uid
from boundary.sandbox.types import KilledReason, SandboxLimits, SandboxResult
from boundary.sandbox.workdirs import hand_over
from durable.database import outside_wait

READ_BYTES = 64 * 1024
KERNEL_KILLS = frozenset({128 + signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGXFSZ})


@outside_wait()
def launch(
    command: str | list[str],
    *,
    workdir: Path,
    timeout: float,
    stdin: bytes = b"",
    owner: str = "",
    limits: SandboxLimits,
    cancelled: Callable[[], bool] = lambda: False,
) -> SandboxResult:
    """Run one command, or kill it when it exceeds a limit. All its processes are gone when this returns."""
    argv = ["/bin/bash", "-c", command] if isinstance(command, str) else command
    if limits.cpu_seconds is None:  # so that a busy loop ends by the timeout, which is reported as such
        limits = replace(limits, cpu_seconds=math.ceil(timeout) + caps.SANDBOX_CPU_GRACE_SECONDS)
    with claim_slot(owner, cancelled) as slot, contextlib.ExitStack() as cleanup:
        hand_over(workdir, slot_uid(slot))
        group = cleanup.enter_context(open_group(slot, limits))
        run = start(
            argv,
            workdir=workdir,
            uid=slot_uid(slot),
            stdin=stdin,
            limits=limits,
            cleanup=cleanup,
            group=group,
        )
        meter = ResourceMeter(process=run.process.pid, workdir=workdir, limits=limits, group=group)
        try:
            run.follow(time.monotonic() + timeout, meter, cancelled)
        finally:
            run.end()
        if run.killed is None and group and group.ran_out_of_memory():
            run.killed = KilledReason.MEMORY
        return run.result()


def start(
    argv: list[str],
    *,
    workdir: Path,
    uid: int | None,
    stdin: bytes,
    limits: SandboxLimits,
    cleanup: contextlib.ExitStack,
    group: Group | None = None,
) -> SandboxProcess:
    """Start the command; `cleanup` closes its pipes."""
    seccomp = memory_file(seccomp_filter(), cleanup)
    entrances = group.open_entrances(cleanup) if group else []
    status_read, status_write = os.pipe()
    status = cleanup.enter_context(os.fdopen(status_read, "rb", buffering=0))
    with os.fdopen(status_write, "wb", buffering=0) as status_end:
        content = bwrap_arguments(workdir, limits, seccomp_fd=seccomp, status_fd=status_end.fileno())
        arguments = memory_file(content, cleanup)
        chain = sandbox_command(argv, uid=uid, limits=limits, arguments_fd=arguments, entrances=entrances)
        try:
            process = subprocess.Popen(  # noqa: S603 - the sandbox is what makes this safe
                chain,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=(seccomp, arguments, status_end.fileno(), *entrances),
                env={},
                cwd="/",
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # the command contains NUL or is too long
            raise SandboxBroken(f"The command could not be started: {error}.") from error
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            os.set_blocking(pipe.fileno(), False)
            cleanup.callback(pipe.close)
    os.set_blocking(status.fileno(), False)
    process_fd = os.pidfd_open(process.pid)
    cleanup.callback(os.close, process_fd)
    return SandboxProcess(
        process=process,
        process_fd=process_fd,
        status_fd=status.fileno(),
        stdin=memoryview(stdin),
        limits=limits,
        cleanup=cleanup,
    )


def memory_file(content: bytes, cleanup: contextlib.ExitStack) -> int:
    """Return a descriptor from which the content can be read."""
    file = cleanup.enter_context(os.fdopen(os.memfd_create("sandbox"), "w+b", buffering=0))
    file.write(content)
    file.seek(0)
    return file.fileno()


@dataclass(kw_only=True)
class SandboxProcess:
    """A running command, its output so far, and the means to kill it."""

    process: subprocess.Popen[bytes]  # bubblewrap; reaped last, so that its PID is not reused
    process_fd: int
    status_fd: int
    stdin: memoryview
    limits: SandboxLimits
    cleanup: contextlib.ExitStack
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    status: bytearray = field(default_factory=bytearray)
    # A pidfd of the first process in the sandbox: when it ends, the kernel has killed all others.
    init_fd: int | None = None
    closed: set[int] = field(default_factory=set)  # pipes that no process can write to any more
    truncated: bool = False
    killed: KilledReason | None = None

    def follow(self, deadline: float, meter: ResourceMeter, cancelled: Callable[[], bool]) -> None:
        """Transfer input and output until the command ends or must be killed."""
        with selectors.DefaultSelector() as selector:
            self.register(selector)
            while not has_ended(self.process_fd) and self.killed is None:
                handle_ready(selector)
                if not has_ended(self.process_fd):
                    self.killed = reason_to_kill(deadline, meter, cancelled)

    def register(self, selector: selectors.BaseSelector) -> None:
        """Register a handler for each pipe; a handler returns False when its pipe is finished."""
        selector.register(self.process_fd, selectors.EVENT_READ, lambda: False)
        selector.register(self.status_fd, selectors.EVENT_READ, self.read_status)
        for descriptor, output in self.outputs():
            selector.register(
                descriptor, selectors.EVENT_READ, functools.partial(self.read, descriptor, output)
            )
        if self.process.stdin and not self.process.stdin.closed:
            selector.register(self.process.stdin, selectors.EVENT_WRITE, self.write)

    def outputs(self) -> list[tuple[int, bytearray]]:
        assert self.process.stdout and self.process.stderr
        return [(self.process.stdout.fileno(), self.stdout), (self.process.stderr.fileno(), self.stderr)]

    def read(self, descriptor: int, output: bytearray) -> bool:
        """Read all available output and keep as much as allowed, so that the command never blocks."""
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return True
        room = self.limits.output_bytes - len(output)
        output += data[:room]
        self.truncated |= len(data) > room
        return self.is_open(descriptor, data)

    def is_open(self, descriptor: int, data: bytes) -> bool:
        """Return whether more data may follow; no data means that the last writer is gone."""
        if not data:
            self.closed.add(descriptor)
        return bool(data)

    def write(self) -> bool:
        """Write some of the input; close the pipe when all is written."""
        assert self.process.stdin
        try:
            self.stdin = self.stdin[os.write(self.process.stdin.fileno(), self.stdin[:READ_BYTES]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:  # the command closed its input
            self.stdin = self.stdin[:0]
        if self.stdin:
            return True
        self.process.stdin.close()
        return False

    def read_status(self) -> bool:
        """Read what bubblewrap reports; the first line names the first process in the sandbox."""
        try:
            data = os.read(self.status_fd, READ_BYTES)
        except BlockingIOError:
            return True
        self.status += data
        if self.init_fd is None and self.is_reported():
            self.init_fd = open_first_process(json.loads(self.status.splitlines()[0])["child-pid"])
            if self.init_fd is not None:
                self.cleanup.callback(os.close, self.init_fd)
        return self.is_open(self.status_fd, data)

    def end(self) -> None:
        """Kill what is left, wait until it is gone and read the last output.

        bubblewrap reports the first process of the sandbox before it lets it run. If bubblewrap were killed before
        that, an unknown process would keep our pipes open. So wait for the report and kill only that process, which
        bubblewrap reaps before it exits. Killing the process group covers a bubblewrap that fails to do so.
        """
        if not has_ended(self.process_fd):
            self.read_until(self.is_reported, caps.SANDBOX_START_SECONDS)
            self.kill_first_process()
            self.read_until(lambda: has_ended(self.process_fd), caps.SANDBOX_START_SECONDS)
        self.kill_group()
        self.read_until(self.is_over, caps.SANDBOX_KILL_SECONDS, each=self.kill_first_process)
        if not self.is_over():
            raise SandboxBroken("The command could not be killed.")
        self.process.wait(caps.SANDBOX_KILL_SECONDS)

    def read_until(
        self, done: Callable[[], bool], seconds: float, each: Callable[[], None] = lambda: None
    ) -> None:
        """Keep reading until `done` or the time is over."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            self.register(selector)
            while not done() and time.monotonic() < deadline:
                handle_ready(selector)
                each()

    def is_over(self) -> bool:
        """Return whether every process is gone, including unknown ones that hold our pipes."""
        pipes = {self.status_fd, *(descriptor for descriptor, _ in self.outputs())}
        known = [self.process_fd, *([] if self.init_fd is None else [self.init_fd])]
        return pipes <= self.closed and all(map(has_ended, known))

    def is_reported(self) -> bool:
        """Return whether bubblewrap has reported the first process."""
        return b"\n" in self.status

    def kill_first_process(self) -> None:
        if self.init_fd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.init_fd, signal.SIGKILL)

    def kill_group(self) -> None:
        """Kill bubblewrap's process group; its PID cannot have been reused, as it is not reaped yet."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def result(self) -> SandboxResult:
        code = self.process.returncode
        code = 128 - code if code < 0 else code
        stdout, stderr = (bytes(output).decode("utf-8", "replace") for output in (self.stdout, self.stderr))
        if (
            self.killed is None
            and code != 0
            and not stdout
            and (not self.is_reported() or stderr.startswith("bwrap: "))
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


def reason_to_kill(
    deadline: float, meter: ResourceMeter, cancelled: Callable[[], bool]
) -> KilledReason | None:
    if cancelled():
        return KilledReason.CANCELLED
    if time.monotonic() > deadline:
        return KilledReason.TIMEOUT
    return meter.exceeded()


def handle_ready(selector: selectors.BaseSelector) -> None:
    """Call the handler of each ready pipe; unregister finished ones."""
    for key, _ in selector.select(caps.SANDBOX_TICK_SECONDS):
        if not key.data():
            selector.unregister(key.fileobj)


def has_ended(pidfd: int) -> bool:
    """Return whether a process has ended, reaped or not."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def open_first_process(number: int) -> int | None:
    """Return a pidfd of the first process, or None if it has ended and its PID may have been reused."""
    try:
        pidfd = os.pidfd_open(number)
        numbers = re.search(r"^NSpid:(.*)$", Path(f"/proc/{number}/status").read_text(), re.MULTILINE)
    except (ProcessLookupError, FileNotFoundError):
        return None
    if numbers and numbers[1].split()[-1] != "1":
        os.close(pidfd)
        return None
    return pidfd
