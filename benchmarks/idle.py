"""What ./copilot up costs while nobody uses it: processor time, memory, processes, statements to the database."""

from __future__ import annotations

import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.side_by_side import Report, Size, at_most, cpu_seconds
from benchmarks.startup import STOP_SECONDS, own_environment, wait_for_ready
from tests.harness import ROOT, Stack

TITLE = "a minute of rest, some seconds after the `Ready` line; everything is installed and built already"
SETTLE_SECONDS = 15.0  # for what is loaded after the start
MEGABYTE = 1024
MAX_CPU_PERCENT, MAX_MEGABYTES, MAX_PROCESSES = 1.0, 300.0, 6.0
COUNTED = "BENCH_STATEMENTS"  # the file that grows by one byte with each statement, in whichever process
COUNTER = f"""
import os
from django.db.backends.signals import connection_created

def count(execute, sql, params, many, context):
    with open(os.environ["{COUNTED}"], "ab", buffering=0) as counted:
        counted.write(b".")
    return execute(sql, params, many, context)

def made(connection, **kwargs):
    if count not in connection.execute_wrappers:
        connection.execute_wrappers.append(count)

connection_created.connect(made, weak=False)
"""


@dataclass(frozen=True, kw_only=True)
class Rest:
    """The cost of one span of rest."""

    cpu_percent: float  # of one core
    megabytes: float  # proportional set size: shared pages are divided among those who share them
    processes: int
    statements_per_second: float


def run(stack: Stack, size: Size, report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="rb-idle-") as folder, running(Path(folder)) as process:
        time.sleep(size.pick(1.0, SETTLE_SECONDS, SETTLE_SECONDS))
        rest = measure(process.pid, counted_in(Path(folder)), seconds=size.pick(2.0, 20.0, 60.0))
    report.add("processor time at rest", "% of a core", rest.cpu_percent, goal=at_most(MAX_CPU_PERCENT))
    report.add("memory at rest (PSS)", "MB", rest.megabytes, goal=at_most(MAX_MEGABYTES))
    report.add("processes", "", float(rest.processes), goal=at_most(MAX_PROCESSES))
    report.add("statements to the database at rest", "/s", rest.statements_per_second)


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `./copilot up` in a new home folder, with every statement counted."""
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(COUNTER)
    counted_in(folder).touch()
    env = own_environment(str(folder / "home")) | {"PYTHONPATH": str(site), COUNTED: str(counted_in(folder))}
    with tempfile.TemporaryFile("w+") as out:
        process = start(env, out.fileno())
        try:
            wait_for_ready(process, out.fileno(), time.perf_counter())
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS)


def start(env: Mapping[str, str], out: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(ROOT / "copilot"), "up"],
        cwd=ROOT,
        env=env,
        stdout=out,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def counted_in(folder: Path) -> Path:
    return folder / "statements"


def measure(pid: int, counted: Path, *, seconds: float) -> Rest:
    processes = with_descendants(pid)
    spent, statements = sum(map(cpu_seconds, processes)), counted.stat().st_size
    time.sleep(seconds)
    spent, statements = sum(map(cpu_seconds, processes)) - spent, counted.stat().st_size - statements
    return Rest(
        cpu_percent=100 * spent / seconds,
        megabytes=sum(map(proportional_megabytes, processes)),
        processes=len(processes),
        statements_per_second=statements / seconds,
    )


def with_descendants(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += with_descendants(int(child))
    return found


def proportional_megabytes(pid: int) -> float:
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(found[1]) / MEGABYTE if found else 0.0
