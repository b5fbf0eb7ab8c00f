"""A process that shows no sign of life is ended and replaced, whatever froze it, and no other is."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilot_project import limits
from copilot_project.env import ROOT
from copilot_project.launcher.child_liveness import ChildLiveness
from copilot_project.launcher.supervisor import Supervisor
from durable import liveness
from tests.copilot_project.launcher.processes import is_alive, service

SIGNS = f"""
import sys, threading, time
sys.path.insert(0, {str(ROOT)!r})
from durable import liveness
def signs():
    while True: liveness.tell_supervisor(); time.sleep(0.05)
threading.Thread(target=signs, daemon=True).start()
"""
HOLDS_THE_INTERPRETER = SIGNS + "time.sleep(0.5)\nimport re; re.match('(a+)+$', 'a' * 60 + 'b')"
GIVES_NONE = "import time; time.sleep(600)"
HEALTHCHECK = ROOT / "docker" / "healthcheck"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(tmp_path: Path, said: list[str]) -> Iterator[Supervisor]:
    with Supervisor(folder=tmp_path, logs=tmp_path / "logs", say=said.append, frozen_seconds=2.0) as running:
        yield running


def test_a_process_that_was_stopped_is_replaced_and_that_is_said(
    supervisor: Supervisor, said: list[str]
) -> None:
    child = supervisor.start(service("worker", SIGNS + "time.sleep(600)", reports_liveness=True))
    sign = child.liveness
    assert sign is not None
    assert supervisor.wait(lambda: sign.has_reported, seconds=60)
    first = child.pid
    os.kill(first, signal.SIGSTOP)
    assert supervisor.wait(lambda: child.starts == 2, seconds=120)
    assert not is_alive(first)
    seconds = ("2 s", "3 s")  # a check of a supervisor that is late itself may add up to a second
    assert said[0].startswith(tuple(f"worker has not responded for {silent}" for silent in seconds))
    assert "killed by SIGKILL" in said[1]


def test_a_process_whose_interpreter_is_held_is_replaced(supervisor: Supervisor) -> None:
    """A pattern that takes for ever lets no other thread of its process run, and no signal handler either."""
    child = supervisor.start(service("worker", HOLDS_THE_INTERPRETER, reports_liveness=True))
    assert supervisor.wait(lambda: child.starts == 2, seconds=60)


def test_a_process_that_never_gives_a_sign_is_replaced_too(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FIRST_SIGN_SECONDS", 3.0)
    child = supervisor.start(service("worker", GIVES_NONE, reports_liveness=True))
    assert supervisor.wait(lambda: child.starts == 2, seconds=60)


def test_a_process_that_starts_slowly_is_not_frozen(supervisor: Supervisor, said: list[str]) -> None:
    supervisor.start(service("worker", GIVES_NONE, reports_liveness=True))
    assert not supervisor.wait(lambda: bool(said), seconds=4)


def test_a_process_that_gives_no_signs_by_design_is_left_alone(
    supervisor: Supervisor, said: list[str]
) -> None:
    child = supervisor.start(service("redis", GIVES_NONE))
    os.kill(child.pid, signal.SIGSTOP)
    assert not supervisor.wait(lambda: bool(said), seconds=4)


def test_nobody_is_replaced_where_that_is_switched_off(tmp_path: Path, said: list[str]) -> None:
    with Supervisor(folder=tmp_path, logs=tmp_path / "logs", say=said.append, frozen_seconds=0) as supervisor:
        child = supervisor.start(service("worker", SIGNS + "time.sleep(600)", reports_liveness=True))
        os.kill(child.pid, signal.SIGSTOP)
        assert not supervisor.wait(lambda: bool(said), seconds=4)
        os.kill(child.pid, signal.SIGCONT)


def give(sign: ChildLiveness, value: int) -> None:
    os.pwrite(sign.descriptor, liveness.SIGN.pack(value), 0)


def test_a_machine_that_slept_is_no_reason_to_end_anything() -> None:
    """An hour passes between two looks, for the processes as well."""
    sign = ChildLiveness(max_seconds_per_check=1.0)
    sign.reset(now=0.0)
    give(sign, 1)
    sign.check(now=0.5)
    sign.check(now=3600.5)
    assert sign.silent_seconds == 1.0
    give(sign, 2)
    sign.check(now=3601.0)
    assert sign.silent_seconds == 0.0


def test_a_supervisor_that_was_stopped_itself_ends_nobody(tmp_path: Path) -> None:
    """As when a laptop is closed: it wakes up before the others have given their next sign."""
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from copilot_project.launcher.supervisor import Supervisor
from tests.copilot_project.launcher.processes import service
with Supervisor(folder=Path({str(tmp_path)!r}), logs=Path({str(tmp_path)!r}), say=lambda t: print(t, flush=True),
                frozen_seconds=2.0) as supervisor:
    child = supervisor.start(service("worker", {SIGNS + "time.sleep(600)"!r}, reports_liveness=True))
    supervisor.wait(lambda: child.liveness.has_reported, seconds=60)
    print("pid", child.pid, flush=True)
    supervisor.run()
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    worker = int(process.stdout.readline().split()[1])
    for number in (signal.SIGSTOP, signal.SIGCONT):
        os.kill(process.pid, number)
        os.kill(worker, number)
        time.sleep(4 if number == signal.SIGSTOP else 2)
    assert is_alive(worker)
    process.terminate()
    assert process.wait(120) == 0
    assert process.stdout.read() == ""


# --- for others who watch -----------------------------------------------------------------------


def test_systemd_hears_that_the_process_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(tmp_path / "notify"))
        notify.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        liveness.touch()
        assert notify.recv(100) == b"WATCHDOG=1"


@pytest.mark.parametrize("value", ["/no/such/socket", "@ratchet-no-such-socket"])
def test_a_systemd_that_is_gone_stops_nothing(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", value)
    liveness.touch()


@pytest.mark.parametrize("value", ["", "none", "9999"])
def test_a_supervisor_that_is_not_there_stops_nothing(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(liveness.SIGN_FD, value)
    liveness.touch()


def test_the_file_names_the_process_and_is_renewed(tmp_path: Path, settings: Any) -> None:
    file = tmp_path / "alive"
    settings.COPILOT_ALIVE_FILE = str(file)
    liveness.touch()
    os.utime(file, (0, 0))
    liveness.touch()
    assert (file.read_text(), file.stat().st_mtime > 0) == (str(os.getpid()), True)


def check(file: Path, **told: str) -> int:
    environment = {"PATH": os.environ["PATH"], "COPILOT_ALIVE_FILE": str(file), **told}
    return subprocess.run(
        ["sh", str(HEALTHCHECK)], env=environment, capture_output=True, timeout=30
    ).returncode


@pytest.fixture
def frozen(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", GIVES_NONE])
    file = tmp_path / "alive"
    file.write_text(str(process.pid))
    os.utime(file, (time.time() - 3600,) * 2)
    yield process
    process.kill()
    process.wait()


def test_the_health_check_ends_a_frozen_process_where_that_is_wanted(
    tmp_path: Path, frozen: subprocess.Popen[bytes]
) -> None:
    os.kill(frozen.pid, signal.SIGSTOP)
    assert [check(tmp_path / "alive", COPILOT_ALIVE_END="3") for _ in range(2)] == [1, 1]
    assert frozen.poll() is None
    assert check(tmp_path / "alive", COPILOT_ALIVE_END="3") == 1
    assert frozen.wait(120) == -signal.SIGKILL


def test_the_health_check_only_tells_where_it_is_not(tmp_path: Path, frozen: subprocess.Popen[bytes]) -> None:
    assert [check(tmp_path / "alive") for _ in range(5)] == [1] * 5
    assert frozen.poll() is None


def test_a_sign_between_two_checks_begins_the_count_again(
    tmp_path: Path, frozen: subprocess.Popen[bytes]
) -> None:
    """A machine that slept looks frozen once."""
    file = tmp_path / "alive"
    for _ in range(4):
        assert check(file, COPILOT_ALIVE_END="2") == 1
        file.touch()
        assert check(file, COPILOT_ALIVE_END="2") == 0
        os.utime(file, (time.time() - 3600,) * 2)
    assert frozen.poll() is None
