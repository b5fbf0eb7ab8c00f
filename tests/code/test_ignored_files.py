"""Files with secrets stay out of git and out of the image."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.harness import ROOT

SECRET_FILES = ["docker/.env", ".env", "docker/.env.production", "ratchet.env", "docker/site.env"]


@pytest.mark.parametrize("path", SECRET_FILES)
def test_git_ignores_files_of_secrets(path: str) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("This is not a clone.")
    done = subprocess.run(["git", "check-ignore", "--no-index", "-q", path], cwd=ROOT, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("path", SECRET_FILES)
def test_the_image_takes_no_files_of_secrets(path: str) -> None:
    assert is_left_out(path)


@pytest.mark.parametrize("path", ["docker/env.example", "docker/entrypoint", "copilot_project/env.py"])
def test_what_the_image_needs_is_not_left_out(path: str) -> None:
    assert not is_left_out(path)


def is_left_out(path: str) -> bool:
    """Read .dockerignore as Docker does: a pattern names a path from the root, `**/` stands for any folders."""
    patterns = (ROOT / ".dockerignore").read_text().split()
    return any(re.fullmatch(as_regex(pattern), path) for pattern in patterns)


def as_regex(pattern: str) -> str:
    escaped = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return f"{escaped}(?:/.*)?"
