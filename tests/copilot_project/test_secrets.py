"""Keys made once: many processes at the same moment end with the same one, and nobody else can read it."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from copilot_project import secrets
from copilot_project.env import ROOT

RACE = """
import sys, time
from pathlib import Path
from copilot_project import secrets
home = Path(sys.argv[1])
(home / f"here-{sys.argv[2]}").touch()
deadline = time.monotonic() + 60
while not (home / "go").exists() and time.monotonic() < deadline:
    pass
print(secrets.secret_key(home))
"""


def test_processes_that_start_at_once_end_with_the_same_key(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path), str(number)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(6)
    ]
    while not all((tmp_path / f"here-{number}").exists() for number in range(6)):
        assert all(racer.poll() is None for racer in racers)
    (tmp_path / "go").touch()
    keys = {racer.communicate(timeout=60)[0].strip() for racer in racers}
    assert len(keys) == 1
    assert len(keys.pop()) >= 50
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["secret_key"]


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    secrets.encryption_key(tmp_path)
    path = tmp_path / "keys" / "encryption_key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_key_stays_the_same(tmp_path: Path) -> None:
    assert secrets.flower_auth(tmp_path) == secrets.flower_auth(tmp_path)
    assert secrets.flower_auth(tmp_path).startswith("admin:")


def test_an_encryption_key_can_encrypt(tmp_path: Path) -> None:
    box = Fernet(secrets.encryption_key(tmp_path))
    assert box.decrypt(box.encrypt(b"x")) == b"x"


def test_a_maker_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> str:
        raise RuntimeError("no entropy")

    with pytest.raises(RuntimeError):
        secrets.kept(tmp_path / "keys" / "k", fail)
    assert list((tmp_path / "keys").iterdir()) == []
