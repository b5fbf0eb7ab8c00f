"""Everything that reads the code without running it: `./copilot check`, one line each, with caches.

Django's own `check` is one of them; with words of its own (`./copilot check --deploy`) it is called as ever.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from copilot_project.env import ROOT
from copilot_project.launcher import ui

SECONDS = 900
BIN = Path(sys.executable).parent
MANAGE = (sys.executable, "manage.py")
MARKS = {True: "ok  ", False: "FAIL", None: "skip"}


class Result(NamedTuple):
    """How a check ended: well, badly, or not at all because something is absent."""

    ok: bool | None
    output: str
    seconds: float = 0.0


Check = Callable[[], Result]


def main(words: list[str]) -> int:
    if words:
        return subprocess.run([*MANAGE, "check", *words], cwd=ROOT).returncode
    ended = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as cores:
        running = {name: cores.submit(check) for name, check in CHECKS.items()}
        for name, check in running.items():
            ended.append(check.result())
            print(line(name, ended[-1]), flush=True)
    for result in ended:
        if result.ok is False:
            print(f"\n{result.output.strip()}")
    return 1 if any(result.ok is False for result in ended) else 0


def line(name: str, result: Result) -> str:
    why = result.output if result.ok is None else f"{result.seconds:.1f} s"
    return f"{MARKS[result.ok]}  {name:<24}{why}"


def program(*command: str, folder: Path = ROOT, path: Path | None = None) -> Check:
    """A check that is a program: well when it ends with 0."""

    def run() -> Result:
        started = time.monotonic()
        environment = os.environ | ({"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"} if path else {})
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, text=True, timeout=SECONDS,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return Result(False, str(error), time.monotonic() - started)
        return Result(done.returncode == 0, done.stdout, time.monotonic() - started)

    return run


def of_the_chat_ui(*words: str) -> Check:
    """A call of npm in frontend/, where there is a Node and the packages can be had."""

    def run() -> Result:
        node = ui.machine_node() or ui.wheel_node()
        if node is None:
            return Result(None, f"needs Node {ui.NODE_RANGE} or newer with npm")
        if words[:1] == ("run",) and f'"{words[-1]}":' not in (ui.FRONTEND / "package.json").read_text():
            return Result(None, f"frontend/package.json has no script {words[-1]}")
        try:
            ui.install_packages(node, ui.FRONTEND)
        except ui.CannotBuild as error:
            return Result(None, f"needs the packages of frontend/: {error}")
        return program(*node.npm, *words, folder=ui.FRONTEND, path=node.folder)()

    return run


CHECKS: dict[str, Check] = {
    "ruff check": program(str(BIN / "ruff"), "check", "--quiet", "."),
    "ruff format": program(str(BIN / "ruff"), "format", "--check", "--quiet", "."),
    "import contracts": program(str(BIN / "lint-imports")),
    "django check": program(*MANAGE, "check"),
    "migrations": program(*MANAGE, "makemigrations", "--check", "--dry-run"),
    "generated pages": program(*MANAGE, "docs", "--check"),
    "linter of the chat UI": of_the_chat_ui("run", "--silent", "lint"),
    "types of the chat UI": of_the_chat_ui("exec", "--no", "--", "tsc", "--noEmit"),
    "mypy": program(str(BIN / "mypy"), "."),
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
