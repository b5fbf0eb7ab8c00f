"""Run the tests: `./copilot test [pytest arguments]`.

The whole suite runs on all cores. Tests that drive a browser run in a process of their own, beside the others
if it is the whole suite: the browser's event loop and those of the asyncio tests do not get along. What they print is
shown behind what the others print, and the last line counts both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent
NOTHING_COLLECTED = 5
COUNTED = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
BAD = ("failed", "error")
ALONE = ("-n", "-k", "-x", "-s", "--pdb", "--lf", "--ff", "--sw", "--collect-only", "--co")


@dataclass(frozen=True, kw_only=True)
class Run:
    """How one pytest process ended."""

    code: int
    counts: dict[str, int]
    browser_tests_left: int


def main(arguments: list[str]) -> int:
    if any(word == "-m" or word.startswith("-m=") for word in arguments):
        runs = [run(arguments)]
    elif processes := spread(arguments):
        with ThreadPoolExecutor(1) as beside, tempfile.TemporaryFile("w+") as out:
            browser = beside.submit(in_browser, arguments, out)
            runs = [run([*arguments, *processes, "-m", "not browser"]), browser.result()]
            out.seek(0)
            sys.stdout.write(out.read())
    else:
        runs = [run([*arguments, "-m", "not browser"])]
        if runs[0].browser_tests_left and runs[0].code in (0, 1, NOTHING_COLLECTED):
            runs.append(in_browser(arguments))
    sys.stdout.write(f"\n{closing_line(runs)}\n")
    return exit_code(runs)


def spread(arguments: list[str]) -> list[str]:
    """One process a core and one more, since many tests wait; unless some were chosen or it was said otherwise.

    A file stays in one process, for it may have started a whole system; they come in the order of collection.
    """
    chosen = any(not word.startswith("-") or word.startswith(ALONE) for word in arguments)
    processes = str((os.cpu_count() or 1) + 1)
    return [] if chosen else ["-n", processes, "--dist", "loadfile", "--no-loadscope-reorder"]


def in_browser(arguments: list[str], out: IO[str] | None = None) -> Run:
    build_interface(out)
    return run([*arguments, "-m", "browser"], out)


def run(arguments: list[str], out: IO[str] | None = None) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        tally = Path(folder) / "tally.json"
        command = [sys.executable, "-m", "pytest", "-p", "tests.tally", *arguments]
        environment = os.environ | {"TEST_TALLY": str(tally)}
        code = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=out, stderr=out and subprocess.STDOUT
        ).returncode
        found: dict[str, Any] = (
            json.loads(tally.read_text()) if tally.exists() else {"counts": {}, "browser": 0}
        )
    return Run(code=code, counts=found["counts"], browser_tests_left=found["browser"])


def build_interface(out: IO[str] | None) -> None:
    """Browser tests look at the built chat UI; without one they say so themselves."""
    if (ROOT / "frontend" / "package.json").exists():
        build = [sys.executable, "-m", "copilot_project.embedded.ui", "--if-stale"]
        subprocess.run(build, cwd=ROOT, stdout=out, stderr=out and subprocess.STDOUT)


def closing_line(runs: list[Run]) -> str:
    total = {name: sum(run.counts.get(name, 0) for run in runs) for name in COUNTED}
    failed = sum(total.pop(name) for name in BAD)
    rest = [f"{count} {name}" for name, count in total.items() if count and name != "passed"]
    return ", ".join([f"{total['passed']} passed", f"{failed} failed", *rest])


def exit_code(runs: list[Run]) -> int:
    """The first code that is not well. No test at all is only well when another run had some."""
    collected = [run.code for run in runs if run.code != NOTHING_COLLECTED]
    return next((code for code in collected if code), 0) if collected else NOTHING_COLLECTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
