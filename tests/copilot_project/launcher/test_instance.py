"""The one instance of a home folder: found while it runs, gone however it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from copilot_project.env import ROOT
from copilot_project.launcher.instance import (
    AlreadyRunning,
    HomeLock,
    Instance,
    find_instance,
    instance_file,
)

HERE = Instance(pid=1, url="http://127.0.0.1:8000", flower_url="http://127.0.0.1:5555")


def test_a_second_instance_is_refused_and_told_where_the_first_is(tmp_path: Path) -> None:
    first = HomeLock(tmp_path)
    first.announce(HERE)
    with pytest.raises(AlreadyRunning, match=r"already running here at http://127.0.0.1:8000"):
        HomeLock(tmp_path)
    first.release()
    HomeLock(tmp_path).release()


def test_a_second_instance_is_refused_while_the_first_is_still_starting(tmp_path: Path) -> None:
    first = HomeLock(tmp_path)
    with pytest.raises(AlreadyRunning, match="already running here"):
        HomeLock(tmp_path)
    first.release()


def test_an_instance_is_found_only_while_it_runs(tmp_path: Path) -> None:
    assert find_instance(tmp_path) is None
    lock = HomeLock(tmp_path)
    lock.announce(HERE)
    assert find_instance(tmp_path) == HERE
    lock.release()
    assert find_instance(tmp_path) is None


def test_an_instance_that_was_killed_is_not_found_although_its_file_is_there(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from copilot_project.launcher.instance import *;"
        "HomeLock(Path(sys.argv[1])).announce(Instance(pid=os.getpid(), url='http://x')); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT)
    assert instance_file(tmp_path).exists()
    assert find_instance(tmp_path) is None
    HomeLock(tmp_path).release()


def test_a_damaged_file_is_no_instance(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    for text in ("", "{", '{"unknown": 1}', "[]"):
        instance_file(tmp_path).write_text(text)
        assert find_instance(tmp_path) is None
    lock.release()
