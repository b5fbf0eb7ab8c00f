"""`./copilot up` for real: everything starts, can be found and used, survives losses, and goes without a trace."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from copilot_project.env import ROOT
from copilot_project.launcher.bind_addresses import free_port, listen
from copilot_project.launcher.instance import find_instance
from tests.copilot_project.launcher.processes import children_of, is_alive, kill, until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
    pytest.mark.timeout(1_200),
]
HOST = "127.0.0.1"
UP = [sys.executable, "-m", "copilot_project.launcher.up"]


@dataclass
class System:
    """A running `up` and what it said until it was ready."""

    process: subprocess.Popen[str]
    home: Path
    said: str

    def address(self, name: str) -> str:
        found = re.search(rf"^  {name} +(\S+)", self.said, re.MULTILINE)
        assert found, self.said
        return found[1]

    def processes(self) -> list[int]:
        return children_of(self.process.pid)

    def child(self, words: str) -> int:
        for pid in self.processes():
            if words in Path(f"/proc/{pid}/cmdline").read_text():
                return pid
        raise AssertionError(f"no process has {words!r} in its name")


def environment(home: Path, **changes: str) -> dict[str, str]:
    """Nothing of the test run's own: its Redis, its database and its model must not be used."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return kept | {"COPILOT_HOME": str(home), **changes}


def start(home: Path, **changes: str) -> System:
    process = subprocess.Popen(
        UP,
        cwd=ROOT,
        env=environment(home, **changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("Ctrl-C stops"):
            return System(process, home, said)
    raise AssertionError(f"up ended with {process.wait()}:\n{said}")


def stop(system: System) -> None:
    before = system.processes()
    system.process.send_signal(signal.SIGTERM)
    assert system.process.wait(120) == 0
    assert not any(is_alive(pid) for pid in before)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("up")


@pytest.fixture(scope="module")
def system(home: Path) -> Iterator[System]:
    """One start for all tests, with the wanted web port taken by somebody else."""
    with listen(HOST, free_port(HOST, 21_000)) as taken:
        wanted = taken.getsockname()[1]
        flower, model = free_port(HOST, wanted + 200), free_port(HOST, wanted + 400)
        ports = {"PORT": wanted, "FLOWER_PORT": flower, "COPILOT_OFFLINE_MODEL_PORT": model}
        running = start(home, **{name: str(port) for name, port in ports.items()})
    yield running
    if running.process.poll() is None:
        stop(running)


def get(url: str, **headers: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_a_taken_port_gives_the_next_free_one_and_that_is_said(system: System) -> None:
    found = re.search(r"Port (\d+) is in use, using (\d+) \(set PORT", system.said)
    assert found and int(found[2]) > int(found[1])
    assert system.address("Chat") == f"http://{HOST}:{found[2]}/"


def test_everything_is_ready_when_it_says_so(system: System) -> None:
    status, body = get(f"{system.address('Chat')}readyz")
    assert status == 200, body
    names = "".join(Path(f"/proc/{pid}/cmdline").read_text() for pid in system.processes())
    for word in ("redis-server", "turns@", "background@", "ratchet: web"):
        assert word in names


def test_what_nobody_has_asked_for_yet_is_not_running(system: System) -> None:
    names = "".join(Path(f"/proc/{pid}/cmdline").read_text() for pid in system.processes())
    assert "flower" not in names and "ratchet: model" not in names
    assert len(system.processes()) == 5  # with the keeper


@pytest.fixture(scope="module")
def visitor(system: System) -> urllib.request.OpenerDirector:
    """A browser that followed the login link, which works once."""
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    try:
        visitor.open(system.address("Log in"), timeout=60)
    except urllib.error.HTTPError as error:
        assert error.code == 404  # the page behind it may not be built here; the cookie has been set
    return visitor


def test_the_login_link_logs_in_once(system: System, visitor: urllib.request.OpenerDirector) -> None:
    api = f"{system.address('Chat')}api/me"
    assert get(api)[0] in (401, 403)
    assert json.load(visitor.open(api, timeout=60))["username"] == "demo"
    stranger = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    try:
        stranger.open(system.address("Log in"), timeout=60)
    except urllib.error.HTTPError as error:
        assert error.code < 500
    with pytest.raises(urllib.error.HTTPError):
        stranger.open(api, timeout=60)


def test_the_operations_room_says_that_all_is_well_and_leads_to_flower(
    system: System, visitor: urllib.request.OpenerDirector
) -> None:
    def front() -> str:
        return str(visitor.open(system.address("Admin"), timeout=60).read().decode())

    until(lambda: "Nothing is wrong." in front(), "a front page without trouble")
    link = re.search(r'<a class="tile link" href="([^"]+)">Flower', front())
    assert link is not None and link[1] == system.address("Flower")
    assert get(f"{link[1]}healthcheck")[0] == 200


def test_flower_wants_the_password_it_was_given(system: System) -> None:
    url = system.address("Flower")
    user, password = re.search(r"\((\w+) / (\S+)\)", system.said).groups()  # type: ignore[union-attr]
    assert get(url)[0] == 401
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    assert get(url, Authorization=f"Basic {token}")[0] == 200
    flower = system.child("flower")
    assert password not in Path(f"/proc/{flower}/cmdline").read_text()


def test_a_second_up_is_told_where_the_first_is(system: System) -> None:
    second = subprocess.run(
        UP, cwd=ROOT, env=environment(system.home), capture_output=True, text=True, timeout=60
    )
    assert second.returncode == 1
    assert f"already running here at {system.address('Chat').rstrip('/')}" in second.stderr


def test_the_running_instance_can_be_found(system: System) -> None:
    found = find_instance(system.home)
    assert found and found.url == system.address("Chat").rstrip("/")
    assert found.pid == system.process.pid


def test_doctor_is_content(system: System) -> None:
    command = [sys.executable, "manage.py", "doctor", "--json"]
    result = subprocess.run(command, cwd=ROOT, env=environment(system.home), capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_terminal_gets_an_answer(system: System) -> None:
    command = [sys.executable, "manage.py", "chat", "hello"]
    result = subprocess.run(
        command, cwd=ROOT, env=environment(system.home), capture_output=True, text=True, timeout=600
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "offline model" in result.stdout


def test_a_killed_web_process_is_replaced_and_no_visitor_is_refused(system: System) -> None:
    web = system.child("ratchet: web")
    kill(web)
    status, _ = get(f"{system.address('Chat')}healthz")
    assert status == 200
    until(lambda: system.child("ratchet: web") != web, "another web process")


def test_a_killed_worker_and_a_killed_redis_are_replaced(system: System) -> None:
    for words in ("turns@", "background@", "redis-server"):
        before = system.child(words)
        kill(before)
        until(lambda words=words, before=before: any_other(system, words, before), f"another {words}")  # type: ignore[misc]
    until(lambda: get(f"{system.address('Chat')}readyz")[0] == 200, "everything to be ready again")


def any_other(system: System, words: str, before: int) -> bool:
    try:
        return system.child(words) != before
    except (AssertionError, OSError):
        return False


def test_killing_it_with_9_leaves_nothing_and_the_next_one_starts(system: System) -> None:
    before = system.processes()
    assert len(before) >= 5  # with the keeper
    system.process.kill()
    system.process.wait(120)
    until(lambda: not any(is_alive(pid) for pid in before), "everything to end")
    assert find_instance(system.home) is None
    ports = {"PORT": str(free_port(HOST, 22_000)), "FLOWER_PORT": str(free_port(HOST, 22_200))}
    again = start(system.home, **ports, COPILOT_OFFLINE_MODEL_PORT=str(free_port(HOST, 22_400)))
    assert "Preparing the database" not in again.said
    stop(again)
    assert find_instance(system.home) is None


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    result = subprocess.run(
        UP, cwd=ROOT, env=environment(tmp_path, PORT="http"), capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stderr.count("PORT='http'")) == (1, 1)


def test_a_database_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind((HOST, 0))
        url = f"postgres://nobody:x@{HOST}:{closed.getsockname()[1]}/none"
    ports = {"PORT": str(free_port(HOST, 23_000)), "FLOWER_PORT": str(free_port(HOST, 23_200))}
    result = subprocess.run(
        UP,
        cwd=ROOT,
        env=environment(tmp_path, DATABASE_URL=url, OPENAI_API_KEY="k", **ports),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode == 1
    assert "The database does not answer" in result.stderr and "Check DATABASE_URL" in result.stderr
    assert "Traceback" not in result.stderr
