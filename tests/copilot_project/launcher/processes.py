"""Small real processes to supervise, and ways to look at them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from copilot_project.env import ROOT
from copilot_project.launcher import reaper
from copilot_project.launcher.child import Service

DEADLINE_SECONDS = 120.0  # generous: a loaded machine is slow, not broken

SLEEPER = "import time; time.sleep(600)"
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('on', flush=True)
time.sleep(600)
"""
PARENT = """
import subprocess, sys, time
kids = [
    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']),
    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True),
]
print('kids', *(kid.pid for kid in kids), flush=True)
time.sleep(600)
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-u", "-c", code]


def service(name: str, code: str = SLEEPER, **options: object) -> Service:
    return Service(name=name, command=python(code), **options)  # type: ignore[arg-type]


def forked(name: str, *words: str, **options: object) -> Service:
    """A service in a copy of this process."""
    module = "tests.copilot_project.launcher.forked_program"
    return Service(name=name, module=module, command=words, **options)  # type: ignore[arg-type]


def until(condition: Callable[[], object], what: str) -> None:
    """Poll with a deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE_SECONDS:.0f} s for: {what}"
        time.sleep(0.03)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody has reaped yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def marked(mark: str) -> list[int]:
    return [pid for pid in reaper.marked(mark) if is_alive(pid)]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


SUPERVISE = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from copilot_project.launcher.supervisor import Supervisor
from tests.copilot_project.launcher.processes import PARENT, STUBBORN, forked, service
with Supervisor(folder=Path.cwd(), logs=Path('logs'), say=lambda text: print(text, flush=True)) as supervisor:
    for name, code in (('parent', PARENT), ('stubborn', STUBBORN)):
        supervisor.start(service(name, code, grace_seconds=0.5))
    supervisor.start(forked('forked', 'forked.json'))
    supervisor.wait_until_ready(seconds=120)
    supervisor.wait(lambda: Path('logs/parent.log').read_text().startswith('kids'), seconds=120)
    supervisor.wait(lambda: Path('forked.json').exists(), seconds=120)
    print('mark', supervisor.mark, flush=True)
    supervisor.run()
print('stopped', flush=True)
"""
