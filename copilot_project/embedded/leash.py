"""Tie a process to its parent: the kernel kills it when the parent dies.

The supervisor starts programs of their own through this file: `python leash.py PARENT_PID COMMAND...`. Nothing is
imported that is not needed, because it stands in the way of every start.
"""

import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def tie(parent: int) -> None:
    if sys.platform == "linux":
        import ctypes  # only Linux has the call

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("The supervisor died before this process began.")


def main(parent: int, command: list[str]) -> None:
    tie(parent)
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(f"ERROR {command[0]} cannot be started: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
