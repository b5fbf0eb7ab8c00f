"""A run of tests that is killed takes its Redis along."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from copilot_project.launcher.redis import is_up
from tests.harness import ROOT, eventually

RUN = """
import sys
from pathlib import Path
from tests.redis_server import start_server
start_server(Path(sys.argv[1]), Path(sys.argv[1]) / "redis.sock", append_only=False).wait()
"""


def test_the_redis_of_a_killed_run_is_gone(short_tmp: Path) -> None:
    socket = short_tmp / "redis.sock"
    run = subprocess.Popen([sys.executable, "-c", RUN, str(short_tmp)], cwd=ROOT)
    try:
        eventually(lambda: is_up(socket, timeout=1.0), what="Redis is up")
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    eventually(lambda: not is_up(socket, timeout=1.0), what="Redis is gone")
