"""Tie a process to its parent: the kernel kills it when the parent dies.

The supervisor starts other programs through this file: `python die_with_parent.py PARENT_PID COMMAND...`. It imports
as little as possible, because every start waits for it.
"""

import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        import ctypes  # only Linux has the call

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("The supervisor died before this process began.")


def main(parent: int, command: list[str]) -> None:
    die_with_parent(parent)
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(f"ERROR {command[0]} cannot be started: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
