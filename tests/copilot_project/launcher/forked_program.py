"""A program to run in a copy of another process: writes down who it is and what it has, then does as it is told."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    record, *orders = sys.argv[1:]
    listed = [int(path.name) for path in Path("/proc/self/fd").iterdir()]
    facts = {
        "pid": os.getpid(),
        "group": os.getpgid(0),
        "argv0": sys.argv[0],
        "word": os.environ.get("WORD"),
        "fds": sorted(fd for fd in listed if Path(f"/proc/self/fd/{fd}").exists()),
        "default_sigterm": signal.getsignal(signal.SIGTERM) is signal.SIG_DFL,
    }
    Path(f"{record}.part").write_text(json.dumps(facts))
    Path(f"{record}.part").rename(record)
    sys.stdout.write("this goes to the log\n")
    if "crash" in orders:
        raise ValueError("told to crash")
    if "exit" in orders:
        sys.exit(7)
    time.sleep(600)
