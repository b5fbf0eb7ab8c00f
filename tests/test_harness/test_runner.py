"""`./copilot test`: the last lines count everything and say what was absent, and the exit code is honest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from copilot_project.env import ROOT
from tests.__main__ import NOTHING_COLLECTED, Run, exit_code

MIXED = """
import pytest

def test_good(): pass
def test_bad(): assert False
@pytest.mark.skip("needs a thing: install it")
def test_skipped(): pass
@pytest.mark.skip("needs a thing: install it")
def test_skipped_too(): pass
@pytest.fixture
def broken(): raise RuntimeError
def test_error(broken): pass
@pytest.mark.browser
def test_in_a_browser(): pass
"""


def test_browser_tests_run_apart_and_the_last_lines_count_all_and_say_what_was_absent(tmp_path: Path) -> None:
    path = tmp_path / "test_mixed.py"
    path.write_text(MIXED)
    words = [str(path), "-q", f"--rootdir={tmp_path}", "-c", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "tests", *words]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150)
    assert result.returncode == 1, result.stdout + result.stderr
    said = result.stdout.splitlines()
    assert said[-1] == "2 passed, 2 failed, 2 skipped"
    assert "  2 tests need a thing: install it" in said


@pytest.mark.parametrize(
    ("codes", "wanted"),
    [
        ([0], 0),
        ([0, 1], 1),
        ([1, 0], 1),
        ([2], 2),
        ([NOTHING_COLLECTED, 0], 0),
        ([NOTHING_COLLECTED], NOTHING_COLLECTED),
    ],
)
def test_the_exit_code_is_that_of_the_first_trouble(codes: list[int], wanted: int) -> None:
    assert exit_code([Run(code=code, counts={}) for code in codes]) == wanted
