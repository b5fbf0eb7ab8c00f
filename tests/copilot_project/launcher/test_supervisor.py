"""The supervisor with real processes: restart, orderly stop, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from copilot_project.env import ROOT
from copilot_project.launcher.bind_addresses import free_port, listen
from copilot_project.launcher.child import Child, Service
from copilot_project.launcher.logs import LogFile
from copilot_project.launcher.supervisor import NotReady, StopRequested, Supervisor
from tests.copilot_project.launcher.processes import (
    PARENT,
    STUBBORN,
    SUPERVISE,
    children_of,
    is_alive,
    kill,
    marked,
    python,
    service,
    until,
)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(tmp_path: Path, said: list[str]) -> Iterator[Supervisor]:
    with Supervisor(folder=tmp_path, logs=tmp_path / "logs", say=said.append) as running:
        yield running
    assert marked(running.mark) == []


def test_a_process_that_dies_is_started_again_and_that_is_said(
    supervisor: Supervisor, said: list[str]
) -> None:
    child = supervisor.start(service("sleeper"))
    supervisor.wait_until_ready(seconds=120)
    first = child.pid
    kill(first)
    assert supervisor.wait(lambda: child.starts == 2 and child.process is not None, seconds=120)
    assert child.pid != first and is_alive(child.pid)
    assert said == ["sleeper stopped (killed by SIGKILL); starting it again in 0.2 s"]


def test_a_process_that_exits_with_zero_is_started_again_too(supervisor: Supervisor, said: list[str]) -> None:
    child = supervisor.start(service("short", "pass"))
    assert supervisor.wait(lambda: child.starts >= 2, seconds=120)
    assert "short stopped (exit code 0)" in said[0]


def test_the_pause_before_a_restart_grows_to_a_cap(tmp_path: Path) -> None:
    child = Child(
        service("failing", "raise SystemExit(3)"), LogFile(tmp_path / "failing.log"), folder=tmp_path
    )
    pauses = []
    for _ in range(7):
        child.start(os.environ)
        assert child.process is not None
        until(child.has_ended, "the process to end")
        pauses.append(child.pause_seconds)
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_what_does_not_stay_up_is_named_with_how_it_ended(supervisor: Supervisor) -> None:
    supervisor.start(service("good"))
    supervisor.start(service("bad", "print('the reason'); raise SystemExit(3)", ready=lambda pid: False))
    with pytest.raises(NotReady, match=r"bad keeps stopping \(exit code 3\)") as caught:
        supervisor.wait_until_ready(seconds=120)
    assert "the reason" in caught.value.child.log.last_lines(5)


def test_a_missing_program_is_named(supervisor: Supervisor) -> None:
    ghost = Service(name="ghost", command=["/no/such/program"], ready=lambda pid: False)
    with pytest.raises(NotReady, match="ghost keeps stopping") as caught:
        supervisor.start(ghost)
        supervisor.wait_until_ready(seconds=120)
    lines = caught.value.child.log.last_lines(1)
    assert lines == ["ERROR /no/such/program cannot be started: No such file or directory"]


def test_what_is_late_is_named_when_the_time_is_over(supervisor: Supervisor) -> None:
    supervisor.start(service("late", ready=lambda pid: False))
    with pytest.raises(NotReady, match="late was not ready"):
        supervisor.wait_until_ready(seconds=0.2)


def test_a_task_that_runs_once_is_done_when_it_ends_and_is_not_repeated(supervisor: Supervisor) -> None:
    child = supervisor.start(service("task", "raise SystemExit(4)", once=True))
    supervisor.wait_until_ready(seconds=120)
    assert (child.exit_code, child.starts) == (4, 1)


ANSWERS = """
import socket, sys
listener = socket.socket(fileno=int(sys.argv[1]))
while True:
    visitor, _ = listener.accept()
    visitor.sendall(b'well')
    visitor.close()
"""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with listen("127.0.0.1", free_port("127.0.0.1", 24_000)) as bound:
        yield bound


def visited(listener: socket.socket) -> Service:
    command = [*python(ANSWERS), str(listener.fileno())]
    return Service(name="visited", command=command, listener=listener)


def answer_of(supervisor: Supervisor, listener: socket.socket) -> bytes:
    with socket.create_connection(listener.getsockname()) as visit:
        visit.setblocking(False)
        answers: list[bytes] = []

        def has_answer() -> bool:
            with suppress(BlockingIOError):
                answers.append(visit.recv(16))
            return bool(answers)

        assert supervisor.wait(has_answer, seconds=120)
        return answers[0]


def test_what_waits_for_a_visit_is_started_by_the_first_one_and_answers_it(
    supervisor: Supervisor, listener: socket.socket
) -> None:
    child = supervisor.start(visited(listener))
    supervisor.wait_until_ready(seconds=120)
    assert not supervisor.wait(lambda: child.starts > 0, seconds=0.3)
    assert answer_of(supervisor, listener) == b"well"
    assert answer_of(supervisor, listener) == b"well"
    assert child.starts == 1


def test_what_was_visited_and_died_comes_back_with_the_next_visit(
    supervisor: Supervisor, listener: socket.socket
) -> None:
    child = supervisor.start(visited(listener))
    assert answer_of(supervisor, listener) == b"well"
    kill(child.pid)
    assert supervisor.wait(lambda: child.process is None, seconds=120)
    assert not supervisor.wait(lambda: child.starts > 1, seconds=0.5)
    assert answer_of(supervisor, listener) == b"well"
    assert child.starts == 2


def test_services_stop_rank_by_rank(tmp_path: Path, said: list[str]) -> None:
    record = tmp_path / "order"
    code = (
        "import signal, sys, time\n"
        "def stop(*_):\n    open({record!r}, 'a').write({name!r} + ' '); sys.exit()\n"
        "signal.signal(signal.SIGTERM, stop); open({name!r}, 'w').close(); time.sleep(600)"
    )
    with Supervisor(folder=tmp_path, logs=tmp_path / "logs", say=said.append) as running:
        for name, rank in (("last", 2), ("first", 0), ("middle", 1)):
            running.start(service(name, code.format(record=str(record), name=name), stop_rank=rank))
        assert running.wait(
            lambda: all((tmp_path / name).exists() for name in ("first", "middle", "last")), seconds=30
        )
    assert record.read_text().split() == ["first", "middle", "last"]
    assert marked(running.mark) == []


def test_what_ignores_the_stop_is_killed_after_its_grace(tmp_path: Path, said: list[str]) -> None:
    with Supervisor(folder=tmp_path, logs=tmp_path / "logs", say=said.append) as running:
        child = running.start(service("stubborn", STUBBORN, grace_seconds=0.3))
        assert running.wait(lambda: child.log.last_lines(1) == ["on"], seconds=120)
        pid = child.pid
    assert not is_alive(pid)


def test_grandchildren_end_with_the_supervisor_even_in_sessions_of_their_own(tmp_path: Path) -> None:
    with Supervisor(folder=tmp_path, logs=tmp_path / "logs", say=print) as running:
        child = running.start(service("parent", PARENT))
        assert running.wait(lambda: child.log.last_lines(1) != [], seconds=120)
        kids = [int(word) for word in child.log.last_lines(1)[0].split()[1:]]
        assert all(is_alive(kid) for kid in kids)
    assert not any(is_alive(kid) for kid in kids)


def test_a_stop_signal_while_starting_stops_the_start(supervisor: Supervisor) -> None:
    supervisor.start(service("late", ready=lambda pid: False))
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(StopRequested):
        supervisor.wait_until_ready(seconds=120)


def test_a_reaper_that_is_killed_is_replaced(supervisor: Supervisor) -> None:
    supervisor.start(service("sleeper"))
    assert supervisor._reaper is not None
    first = supervisor._reaper.pid
    kill(first)
    assert supervisor.wait(
        lambda: supervisor._reaper is not None and supervisor._reaper.pid != first, seconds=30
    )


def test_warnings_of_a_process_are_shown_and_the_rest_is_not(supervisor: Supervisor, said: list[str]) -> None:
    supervisor.start(
        service("talker", "print('INFO fine'); print('WARNING look here'); import time; time.sleep(600)")
    )
    assert supervisor.wait(lambda: bool(said), seconds=120)
    assert said == ["talker: WARNING look here"]


# --- copies of the supervisor -------------------------------------------------------------------

ALONE = f"""
import json, sys, threading
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from copilot_project.launcher.supervisor import NotReady, Supervisor
from copilot_project.env import ROOT
from tests.copilot_project.launcher.processes import forked
lock, said = open('lock', 'w'), []
with Supervisor(folder=Path.cwd(), logs=Path('logs'), say=said.append) as supervisor:
    orders = sys.argv[1:]
    if 'thread' in orders:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    told = {{'environment': {{'WORD': 'told'}}, 'pass_fds': (lock.fileno(),)}}
    child = supervisor.start(forked('copy', 'copy.json', *orders, **told))
    supervisor.wait(lambda: Path('copy.json').exists(), seconds=120)
    if 'crash' in orders or 'exit' in orders:
        supervisor.wait(lambda: child.starts == 2, seconds=120)
print(json.dumps({{'lock': lock.fileno(), 'pid': child.pid if child.process else 0, 'said': said}}))
"""


def run_alone(tmp_path: Path, *orders: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        python(ALONE) + list(orders), cwd=tmp_path, capture_output=True, text=True, timeout=90
    )


def facts(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_copy_is_a_process_of_its_own_with_nothing_of_the_supervisor(tmp_path: Path) -> None:
    result = run_alone(tmp_path)
    assert result.returncode == 0, result.stderr
    copy = facts(tmp_path / "copy.json")
    assert copy["group"] == copy["pid"]
    assert (copy["word"], copy["default_sigterm"]) == ("told", True)
    assert copy["argv0"].endswith("forked_program.py")
    assert copy["fds"] == [0, 1, 2, json.loads(result.stdout)["lock"]]
    assert (tmp_path / "logs" / "copy.log").read_text() == "this goes to the log\n"
    assert not is_alive(copy["pid"])


@pytest.mark.parametrize(("order", "said"), [("crash", "exit code 1"), ("exit", "exit code 7")])
def test_a_copy_that_ends_is_replaced(tmp_path: Path, order: str, said: str) -> None:
    result = run_alone(tmp_path, order)
    assert result.returncode == 0, result.stderr
    assert f"copy stopped ({said}); starting it again" in json.loads(result.stdout)["said"][-1]
    assert ("ValueError: told to crash" in (tmp_path / "logs" / "copy.log").read_text()) == (order == "crash")


def test_a_process_with_threads_is_not_copied(tmp_path: Path) -> None:
    result = run_alone(tmp_path, "thread")
    assert "Cannot fork with several threads" in result.stderr
    assert not (tmp_path / "copy.json").exists()


# --- from outside -------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A supervisor in a process of its own, with a stubborn child and grandchildren; and its mark."""
    process = subprocess.Popen(python(SUPERVISE), cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("mark "), line
    mark = line.split()[1]
    assert len(marked(mark)) == 4
    yield process, mark
    process.kill()
    process.wait(120)
    process.stdout.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_stops_everything(
    outside: tuple[subprocess.Popen[str], str], number: signal.Signals
) -> None:
    process, mark = outside
    process.send_signal(number)
    assert process.wait(120) == 0
    assert process.stdout is not None and process.stdout.read().endswith("stopped\n")
    assert marked(mark) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_killing_the_supervisor_with_9_leaves_no_process_behind(
    outside: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    process, mark = outside
    copy = facts(tmp_path / "forked.json")["pid"]
    reapers = [pid for pid in children_of(process.pid) if pid not in [copy, *marked(mark)]]
    assert is_alive(copy) and len(reapers) == 1
    process.kill()
    process.wait(120)
    until(lambda: marked(mark) == [] and not is_alive(copy), "all processes of the killed supervisor to end")
    until(lambda: not is_alive(reapers[0]), "the reaper to end too")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal")
def test_children_die_with_the_supervisor_even_when_the_reaper_was_killed_too(
    outside: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    process, mark = outside
    os.kill(process.pid, signal.SIGSTOP)  # so that it cannot start another reaper
    children = children_of(process.pid)
    copy = facts(tmp_path / "forked.json")["pid"]
    reapers = [pid for pid in children if pid not in [copy, *marked(mark)]]
    assert len(reapers) == 1 and copy in children
    kill(reapers[0])
    direct = [pid for pid in children if pid not in reapers]
    kill(process.pid)
    process.wait(120)
    until(lambda: not any(is_alive(pid) for pid in direct), "direct children to end")
    for pid in marked(mark):
        kill(pid)
