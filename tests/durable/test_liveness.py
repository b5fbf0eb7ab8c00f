"""Whether another process of this machine is dead: yes only when it is certain."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from durable import liveness
from durable.liveness import ProcessIdentity, is_dead, own_identity

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
WAIT_FOR_THE_END = "import sys; sys.stdin.read()"


def me() -> ProcessIdentity:
    found = own_identity()
    assert found is not None
    return found


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", WAIT_FOR_THE_END], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def identity_of(process: subprocess.Popen[bytes]) -> ProcessIdentity:
    return replace(me(), pid=process.pid, born=liveness._stat(process.pid)[liveness.BORN])


def test_a_process_that_lives_is_not_dead(child: subprocess.Popen[bytes]) -> None:
    assert not is_dead(me())
    assert not is_dead(identity_of(child))


def test_a_killed_process_is_dead_before_and_after_its_parent_asks(child: subprocess.Popen[bytes]) -> None:
    other = identity_of(child)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and still has its number
    assert is_dead(other)
    child.wait()
    assert is_dead(other)


def test_another_process_that_got_its_number_is_not_taken_for_it(child: subprocess.Popen[bytes]) -> None:
    assert is_dead(replace(identity_of(child), born="1"))


def test_of_a_process_elsewhere_nothing_is_known(child: subprocess.Popen[bytes]) -> None:
    other = identity_of(child)
    child.kill()
    child.wait()
    assert not is_dead(replace(other, machine="another"))
    assert not is_dead(replace(other, space="pid:[1]"))


def test_a_process_that_may_not_be_looked_at_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert not is_dead(replace(me(), pid=1, born="never"))


def test_where_the_system_does_not_tell_nobody_is_dead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = replace(me(), born="1")
    monkeypatch.setattr(liveness, "PROC", tmp_path)
    assert own_identity() is None
    assert not is_dead(other)


def test_an_identity_is_read_as_it_was_written_and_nonsense_is_none() -> None:
    assert ProcessIdentity.parse(str(me())) == me()
    for nonsense in ("", "a/b/c", "a/b/c/d", "a/b/1/d/e"):
        assert ProcessIdentity.parse(nonsense) is None
