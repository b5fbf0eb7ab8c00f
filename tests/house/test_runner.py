"""`./copilot test`: the last line counts everything, and the exit code is honest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from copilot_project.env import ROOT
from tests.__main__ import NOTHING_COLLECTED, Run, closing_line, exit_code, spread

MIXED = """
import pytest

def test_good(): pass
def test_bad(): assert False
@pytest.mark.skip
def test_skipped(): pass
@pytest.fixture
def broken(): raise RuntimeError
def test_error(broken): pass
@pytest.mark.browser
def test_in_a_browser(): pass
"""


def ran(code: int, **counts: int) -> Run:
    return Run(code=code, counts=counts, browser_tests_left=0)


def run_tests(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150)


def test_both_runs_are_counted_in_one_line() -> None:
    assert closing_line([ran(0, passed=3, skipped=1), ran(1, passed=2, failed=1, error=1)]) == (
        "5 passed, 2 failed, 1 skipped"
    )


@pytest.mark.parametrize(
    ("codes", "wanted"),
    [
        ([0], 0),
        ([0, 0], 0),
        ([0, 1], 1),
        ([1, 0], 1),
        ([2], 2),
        ([NOTHING_COLLECTED, 0], 0),
        ([NOTHING_COLLECTED], NOTHING_COLLECTED),
    ],
)
def test_the_exit_code_is_that_of_the_first_trouble(codes: list[int], wanted: int) -> None:
    assert exit_code([ran(code) for code in codes]) == wanted


@pytest.mark.parametrize("processes", ["0", "2"])
def test_browser_tests_run_apart_and_all_are_counted(tmp_path: Path, processes: str) -> None:
    path = tmp_path / "test_mixed.py"
    path.write_text(MIXED)
    result = run_tests(
        str(path), "-q", "-n", processes, f"--rootdir={tmp_path}", "-c", str(ROOT / "pyproject.toml")
    )
    assert result.returncode == 1, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1] == "2 passed, 2 failed, 1 skipped"
    assert "\n1 passed" in result.stdout


@pytest.mark.parametrize(
    ("words", "parallel"), [([], True), (["-q"], True), (["-q", "tests/house"], False), (["-x"], False)]
)
def test_the_whole_suite_takes_every_core_and_chosen_tests_one(words: list[str], parallel: bool) -> None:
    assert bool(spread(words)) is parallel


def test_a_wrong_argument_is_no_success() -> None:
    assert run_tests("no/such/folder").returncode != 0
