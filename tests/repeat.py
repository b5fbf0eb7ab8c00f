"""Run everything several times and print a table: `python -m tests.repeat 5 --busy`.

`--busy` keeps each core busy with a loop beside the tests: what fails there and nowhere else depends on time. The
output of each run stays in a file. Other words go to `./copilot test`; without any it is `--all`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:.*?(\d+) skipped)?.*$", re.MULTILINE)
PROCESSORS = re.compile(r"^Processor seconds, ([\d,]+) in all", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
HEAD = ("run", "minutes", "processor s", "passed", "failed", "skipped", "load")
WIDTHS = (4, 8, 12, 7, 7, 8, 6)


@dataclass(frozen=True, kw_only=True)
class Round:
    """How one run of the tests ended."""

    seconds: float
    processors: str
    counts: tuple[str, str, str]
    failed: list[str]
    code: int


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.repeat", description=__doc__)
    parser.add_argument("times", type=int)
    parser.add_argument("--busy", action="store_true", help="a busy loop on each core beside the tests")
    asked, words = parser.parse_known_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="ratchet-repeat-"))
    print(f"Output of each run: {folder}", row(*HEAD), sep="\n", flush=True)
    rounds = []
    with busy_cores() if asked.busy else nullcontext():
        for number in range(1, asked.times + 1):
            rounds.append(run(words or ["--all"], folder / f"{number}.log"))
            show(number, rounds[-1])
    return int(any(one.code for one in rounds))


def run(words: list[str], log: Path) -> Round:
    started = time.monotonic()
    with log.open("w") as out:
        code = subprocess.run(
            [sys.executable, "-m", "tests", *words], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT
        ).returncode
    said = log.read_text(errors="replace")
    counted, processors = COUNTS.findall(said), PROCESSORS.findall(said)
    return Round(
        seconds=time.monotonic() - started,
        processors=processors[-1] if processors else "",
        counts=counted[-1] if counted else ("", "", ""),
        failed=sorted(set(FAILED.findall(said))),
        code=code,
    )


def show(number: int, one: Round) -> None:
    load = f"{os.getloadavg()[2]:.1f}"  # of the last quarter of an hour
    print(row(number, f"{one.seconds / 60:.1f}", one.processors, *one.counts, load), flush=True)
    for name in one.failed:
        print(f"      {name}", flush=True)


def row(*cells: object) -> str:
    return " ".join(str(cell).rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))


@contextmanager
def busy_cores() -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
