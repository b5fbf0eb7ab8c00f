"""The time ./copilot up takes until everything is ready, in a new home folder and after that."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.side_by_side import Report, Series, Size, at_most
from tests.harness import ROOT, Stack, free_port

TITLE = "from the command to its `Ready` line; everything is installed and built already"
READY_SECONDS = 120
STOP_SECONDS = 60
LATER_SECONDS = 2
OURS = ("COPILOT_", "OPENAI_", "REDIS_", "CELERY_", "DATABASE_", "DJANGO_", "LOG_")


def run(stack: Stack, size: Size, report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="rb-up-") as home:
        env = own_environment(home)
        first = up(env)
        later = [up(env) for _ in range(size.pick(1, 1, 5))]
    report.add("the first ./copilot up (new database)", "s", first)
    report.add("the second ./copilot up", "s", Series.of(later), goal=at_most(LATER_SECONDS))


def own_environment(home: str) -> dict[str, str]:
    """Return the variables of a start that has nothing of this benchmark's own servers."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    ports = {name: str(free_port()) for name in ("PORT", "FLOWER_PORT", "COPILOT_OFFLINE_MODEL_PORT")}
    return env | {"COPILOT_HOME": home} | ports


def up(env: Mapping[str, str]) -> float:
    """Start it, wait until it is ready, stop it and wait until it is gone."""
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            [str(ROOT / "copilot"), "up"],
            cwd=ROOT,
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            spent = wait_for_ready(process, out.fileno(), started)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS)
    return spent


def wait_for_ready(process: subprocess.Popen[bytes], out: int, started: float) -> float:
    path = Path(f"/proc/self/fd/{out}")
    while "\nReady in" not in "\n" + (said := path.read_text(errors="replace")):
        if process.poll() is not None or time.perf_counter() - started > READY_SECONDS:
            raise RuntimeError(f"./copilot up did not become ready:\n{said[-2000:]}")
        time.sleep(0.02)
    return time.perf_counter() - started
