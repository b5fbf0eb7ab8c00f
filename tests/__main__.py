"""Run the tests: `./copilot test [--all] [pytest arguments]`.

Without arguments it is the fast tier: everything that needs no whole system, and one smoke of the system. `--all` is
everything. Tests that are named (a path, `-k`, `-m`) are run whatever their tier. A tier runs on all cores. Tests
that drive a browser run in a process of their own, beside the others when it is a tier: the browser's event loop and
those of the asyncio tests do not get along. The last lines say where the time went, what was skipped and how to get
what it needs, which tests were the slowest, and how many passed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.postgres_server import server_of_this_run
from tests.processor_time import Spent

ROOT = Path(__file__).resolve().parent.parent
NOTHING_COLLECTED = 5
COUNTED = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
BAD = ("failed", "error")
CHOOSING = ("-k", "-m", "--lf", "--ff", "--sw", "--collect-only", "--co")
ALONE = ("-x", "-s", "--pdb")
BROWSER_TESTS = "tests/system/browser"
FAILURES_ONLY = "-rfE"  # what was skipped is said once, at the end
SLOWEST = 10
NOTEWORTHY_SECONDS = 1.0
FEW_PARTS = 5  # of some tests that were named, the slowest say enough


@dataclass(frozen=True, kw_only=True)
class Run:
    """How one pytest process ended."""

    code: int
    counts: dict[str, int]
    browser_tests_left: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    spent: dict[str, Spent] = field(default_factory=dict)


def main(arguments: list[str]) -> int:
    words = [word for word in arguments if word != "--all"]
    with tempfile.TemporaryDirectory(prefix="ratchet-run-") as shared:
        os.environ["TEST_SHARED"] = shared  # what its processes need only one of
        runs = chosen_runs(words) if names_tests(words) else tier_runs(words, everything="--all" in arguments)
    sys.stdout.write("\n" + "\n".join(closing_lines(runs)) + "\n")
    return exit_code(runs)


def names_tests(words: list[str]) -> bool:
    """Whether some tests were chosen; the value of an option, as in `-n 4`, is no path."""
    return any(word.startswith(CHOOSING) or (ROOT / word.partition("::")[0]).exists() for word in words)


def chosen_runs(words: list[str]) -> list[Run]:
    if any(word.startswith("-m") for word in words):
        return [run(words)]
    runs = [run([*words, "-m", "not browser"])]
    if runs[0].browser_tests_left and runs[0].code in (0, 1, NOTHING_COLLECTED):
        runs.append(run([*words, "-m", "browser"]))
    return runs


def tier_runs(words: list[str], *, everything: bool) -> list[Run]:
    set_up()
    spread = [] if any(word.startswith(ALONE) for word in words) else on_all_cores(words)
    if not everything:
        return [run([*words, *spread, "--tier=fast", "-m", "not browser"])]
    with (
        server_of_this_run(Path(os.environ["TEST_SHARED"]) / "postgresql"),
        ThreadPoolExecutor(1) as beside,
        tempfile.TemporaryFile("w+") as out,
    ):
        browser = beside.submit(run, [*words, BROWSER_TESTS, "-m", "browser"], out)
        runs = [run([*words, *spread, "--tier=all", "-m", "not browser"]), browser.result()]
        out.seek(0)
        sys.stdout.write(out.read())
    return runs


def on_all_cores(words: list[str]) -> list[str]:
    """One process a core and one more, since many tests wait; or as many as were asked for.

    A file stays in one process, for it may have started a whole system; they come in the order of collection.
    """
    asked = any(word.startswith("-n") for word in words)
    number = [] if asked else ["-n", str((os.cpu_count() or 1) + 1)]
    return [*number, "--dist", "loadfile", "--no-loadscope-reorder"]


def set_up() -> None:
    """Fetch and build what tests look at, so that none needs a network; who lacks it still says so by itself."""
    subprocess.run([sys.executable, "-m", "tests.needs"], cwd=ROOT)


def run(arguments: list[str], out: IO[str] | None = None) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder) / "outcomes.json"
        command = [sys.executable, "-m", "pytest", "-p", "tests.outcomes", FAILURES_ONLY, *arguments]
        environment = os.environ | {"TEST_OUTCOMES": str(outcomes)}
        code = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=out, stderr=out and subprocess.STDOUT
        ).returncode
        found: dict[str, Any] = json.loads(outcomes.read_text()) if outcomes.exists() else {}
    return Run(
        code=code,
        counts=found.get("counts", {}),
        browser_tests_left=found.get("browser", 0),
        reasons=found.get("reasons", {}),
        slowest=[(seconds, name) for seconds, name in found.get("slowest", ())],
        spent={name: (clock, processors) for name, (clock, processors) in found.get("spent", {}).items()},
    )


# --- the last lines -------------------------------------------------------------------------------


def closing_lines(runs: list[Run]) -> list[str]:
    return [*spent_lines(runs), *slowest_lines(runs), *skipped_lines(runs), closing_line(runs)]


def spent_lines(runs: list[Run]) -> list[str]:
    """Where the time of a whole tier went, by folder."""
    parts: defaultdict[str, Spent] = defaultdict(lambda: (0.0, 0.0))
    for name, (clock, processors) in ((name, spent) for run in runs for name, spent in run.spent.items()):
        folder = "/".join(name.split("/")[1 : 3 if name.startswith("tests/system/") else 2]) or name
        parts[folder] = parts[folder][0] + clock, parts[folder][1] + processors
    if len(parts) < FEW_PARTS:
        return []
    rows = sorted(
        ((processors, clock, folder) for folder, (clock, processors) in parts.items()), reverse=True
    )
    total = sum(processors for processors, _, _ in rows)
    return [
        f"Processor seconds, {total:,.0f} in all, and seconds by the clock:",
        *(f"  {processors:6.1f} s {clock:7.1f} s  {folder}" for processors, clock, folder in rows),
        "",
    ]


def slowest_lines(runs: list[Run]) -> list[str]:
    found = sorted((row for run in runs for row in run.slowest), reverse=True)[:SLOWEST]
    rows = [f"  {seconds:6.1f} s  {name}" for seconds, name in found if seconds >= NOTEWORTHY_SECONDS]
    return ["The slowest:", *rows, ""] if rows else []


def skipped_lines(runs: list[Run]) -> list[str]:
    """One line for each thing that was absent, and how many tests need it."""
    reasons: Counter[str] = Counter()
    for run in runs:
        reasons.update(run.reasons)
    rows = [f"  {skipped(reason, count)}" for reason, count in reasons.most_common()]
    return ["Skipped:", *rows, ""] if rows else []


def skipped(reason: str, count: int) -> str:
    tests = "1 test" if count == 1 else f"{count} tests"
    if not reason.startswith("needs "):
        return f"{tests}: {reason}"
    return f"{tests} {'needs' if count == 1 else 'need'} {reason.removeprefix('needs ')}"


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
