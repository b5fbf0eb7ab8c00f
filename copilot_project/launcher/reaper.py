"""Wait for the supervisor to end, for whatever reason, and kill what it left behind.

The supervisor holds the write end of this process's standard input and sends the process groups it has started
(`+GROUP`) and seen end (`-GROUP`). When the pipe closes, every remaining group is killed, and on Linux also every
process with the supervisor's mark in its environment, which finds those that left their group.
"""

import os
import signal
import sys
import time

MARK = "COPILOT_SUPERVISOR"
SWEEP_SECONDS = 5.0
PAUSE_SECONDS = 0.02


def main(mark: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    sweep(mark, groups)


def sweep(mark: str, groups: set[int]) -> None:
    """Kill until nothing is left; a process may be starting another at this moment."""
    deadline = time.monotonic() + SWEEP_SECONDS
    quiet = 0
    while quiet < 2 and time.monotonic() < deadline:
        quiet = 0 if kill_groups(groups) + kill_marked(mark) else quiet + 1
        time.sleep(PAUSE_SECONDS)


def kill_groups(groups: set[int]) -> int:
    killed = 0
    for group in list(groups):
        groups.discard(group)
        try:
            os.killpg(group, signal.SIGKILL)
            killed += 1
        except (ProcessLookupError, PermissionError):
            continue
    return killed


def kill_marked(mark: str) -> int:
    killed = 0
    for pid in marked(mark):
        try:
            os.kill(pid, signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            continue
    return killed


def marked(mark: str) -> list[int]:
    """Return the processes with the mark in their environment; none where there is no /proc."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:  # noqa: PTH112, PTH208
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as environ:  # noqa: PTH123
                if wanted in environ.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue  # it has ended, or belongs to another user
    return found


if __name__ == "__main__":
    main(sys.argv[1])
