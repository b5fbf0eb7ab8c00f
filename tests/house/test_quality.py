"""The tools that read the code: each is a test, so that `./copilot test` says everything there is to say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from copilot_project.documentation import DOCS, PAGES
from copilot_project.env import ROOT

TOOLS = {
    "ruff check": ["ruff", "check", "--no-cache", "."],
    "ruff format": ["ruff", "format", "--no-cache", "--check", "."],
    "lint-imports": ["lint-imports", "--no-cache"],
    "mypy": ["mypy", "."],
}


@pytest.mark.quality
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", TOOLS)
def test_the_code_satisfies(name: str) -> None:
    program, *words = TOOLS[name]
    command = [str(Path(sys.executable).with_name(program)), *words]
    result = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        pytest.fail(f"{name}:\n{result.stdout}", pytrace=False)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_written_from_code_is_fresh(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), "run ./copilot docs and commit the result"
