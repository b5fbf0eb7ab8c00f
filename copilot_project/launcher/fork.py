"""Run a Python program in a fork of this process, which has already loaded what the program needs.

Loading Django and the product takes longer than everything else a worker does at its start. With a fork that time is
spent once for all of them, and a process that died is back in a fraction of a second. Programs that need nothing of
this process are started separately: see die_with_parent.py.
"""

from __future__ import annotations

import gc
import logging
import os
import runpy
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import IO, NoReturn, Protocol

from setproctitle import setproctitle

from copilot_project.launcher import die_with_parent

FIRST_FREE_FD = 3
MAX_FD = 65_536


class Process(Protocol):
    """What the supervisor needs of a process, however it was started; subprocess.Popen has it too."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...
    def terminate(self) -> None: ...


class Forked:
    """`python -m MODULE WORDS...`, without the time it takes to load.

    Fork only while a single thread runs: a lock held by another thread would stay locked in the fork forever.
    """

    def __init__(
        self,
        module: str,
        words: Sequence[str],
        *,
        name: str,
        environment: Mapping[str, str],
        output: IO[bytes],
        keep_fds: Sequence[int] = (),
    ) -> None:
        if threading.active_count() > 1:
            raise RuntimeError(f"Cannot fork with several threads: {threading.enumerate()}")
        self.returncode: int | None = None
        parent = os.getpid()
        gc.freeze()  # collecting what is loaded would only copy its pages into every process
        self.pid = os.fork()
        if self.pid == 0:
            setproctitle(f"ratchet: {name}")
            become(module, words, environment, output, keep_fds, parent)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


def become(
    module: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    output: IO[bytes],
    keep_fds: Sequence[int],
    parent: int,
) -> NoReturn:
    """Turn the fork into the program. Never returns, so that nothing of the supervisor is cleaned up in it."""
    code = 1
    try:
        os.setsid()
        die_with_parent.die_with_parent(parent)
        reset_signals()
        redirect_files(output, keep_fds)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [module, *words]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as stop:
        code = exit_code(stop)
    except BaseException:  # the outermost frame of a process: log what happened and end
        logging.getLogger(__name__).critical("%s crashed", module, exc_info=True)
    finally:
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def reset_signals() -> None:
    """Remove the supervisor's signal handlers."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def redirect_files(output: IO[bytes], keep_fds: Sequence[int]) -> None:
    """Redirect the standard streams and close all other files of the supervisor: neither the lock of the home
    folder nor the reaper's pipe may stay open in a fork."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)
    start = FIRST_FREE_FD
    for fd in sorted(keep_fds):
        os.closerange(start, fd)
        start = fd + 1
    os.closerange(start, MAX_FD)


def exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code
    sys.stderr.write(f"{stop.code}\n")
    return 1
