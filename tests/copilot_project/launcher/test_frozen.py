"""`./copilot up` for real: a frozen web process and a frozen worker are replaced, and their turns end once."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilot_project.env import ROOT
from copilot_project.launcher.bind_addresses import free_port
from tests.copilot_project.launcher.processes import is_alive, until
from tests.copilot_project.launcher.test_up import HOST, System, any_other, environment, get, start, stop

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
    pytest.mark.timeout(1_200),
]
WORKER, WEB = "turns@", "ratchet: web"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    names = ("PORT", "FLOWER_PORT", "COPILOT_OFFLINE_MODEL_PORT")
    ports = {name: str(free_port(HOST, 24_000 + 200 * number)) for number, name in enumerate(names)}
    home = tmp_path_factory.mktemp("frozen")
    running = start(home, **ports, COPILOT_TEST_TOOLS="1", COPILOT_FROZEN_SECONDS="5")
    yield running
    if running.process.poll() is None:
        stop(running)


def say(system: System, *steps: dict[str, Any]) -> subprocess.Popen[str]:
    """Begin a turn in the terminal."""
    words = f"SCRIPT: {json.dumps({'steps': steps})}"
    command = [sys.executable, "manage.py", "chat", words]
    told = environment(system.home, COPILOT_TEST_TOOLS="1")
    return subprocess.Popen(
        command, cwd=ROOT, env=told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def call(name: str, **arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def query(system: System, sql: str) -> list[Any]:
    with sqlite3.connect(
        f"file:{next(system.home.glob('*.sqlite3'))}?mode=ro", uri=True, timeout=30
    ) as database:
        return database.execute(sql).fetchall()


def is_replaced(system: System, words: str, frozen: int) -> bool:
    return any_other(system, words, frozen) and not is_alive(frozen)


def test_a_worker_whose_interpreter_is_held_is_replaced_and_its_turn_ends_once(
    system: System, tmp_path: Path
) -> None:
    marker, worker = tmp_path / "held", system.child(WORKER)
    chat = say(
        system,
        call("test_effect", note="frozen once"),
        call("test_hold", marker=str(marker)),
        {"text": "Let go."},
    )
    until(marker.exists, "the tool to hold the interpreter")
    until(lambda: is_replaced(system, WORKER, worker), "another worker")
    said, _ = chat.communicate(timeout=600)
    assert (chat.returncode, said.count("Let go.")) == (0, 1), said
    assert query(system, "SELECT COUNT(*) FROM testtools_testeffect WHERE note = 'frozen once'") == [(1,)]
    assert query(
        system, "SELECT COUNT(*) FROM chat_message WHERE text LIKE '%Let go.%' AND role = 'assistant'"
    ) == [(1,)]


def test_web_and_worker_that_were_stopped_are_replaced_and_the_turn_goes_on(system: System) -> None:
    words = " ".join(f"w{number}" for number in range(60))
    web, worker = system.child(WEB), system.child(WORKER)
    chat = say(system, {"text": words, "delay": 0.1})
    until(lambda: query(system, "SELECT 1 FROM chat_turn WHERE status = 'running'"), "the turn to run")
    for pid in (web, worker):
        os.kill(pid, signal.SIGSTOP)
    until(lambda: is_replaced(system, WEB, web), "another web process")
    until(lambda: is_replaced(system, WORKER, worker), "another worker")
    until(lambda: get(f"{system.address('Chat')}readyz")[0] == 200, "everything to be ready again")
    said, _ = chat.communicate(timeout=600)
    assert (chat.returncode, said.count(words)) == (0, 1), said
    assert query(system, "SELECT COUNT(*) FROM chat_turn WHERE status NOT IN ('completed')") == [(0,)]


def test_the_supervisor_said_what_it_did(system: System) -> None:
    stop(system)
    assert system.process.stdout is not None
    said = system.process.stdout.read()
    for name in ("turns", "web"):  # a check of a supervisor that is late itself adds to it
        told = re.search(rf"^{name} has not responded for (\d+) s; replacing it$", said, re.MULTILINE)
        assert told is not None and int(told[1]) >= 5, said
