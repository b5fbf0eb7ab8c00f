"""Product processes as copies of one that has loaded the product.

Loading Django and the product takes three processor seconds, more than everything else most tests ask of a process.
A fork server pays them once: one of the whole run has loaded the libraries, its copy for one environment the product
with the settings of that environment, and each web process, worker or consumer is a copy of that. `./copilot up`
starts its processes in the same way (copilot_project/launcher/fork.py).
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from copilot_project.launcher import die_with_parent
from copilot_project.launcher.fork import Forked

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 300.0
ANSWER_SECONDS = 60.0
POLL_SECONDS = 0.01
# All that needs no settings; Twisted's reactor is not among them, for it opens files that copies must not share.
LIBRARIES = (
    "autobahn.twisted.websocket",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.bin.worker",
    "celery.beat",
    "channels_redis.pubsub",
    "django.contrib.admin",
    "django.core.management.commands.runserver",
    "openai",
    "psycopg_pool",
    "twisted.web.server",
)


class NoAnswer(Exception):
    """The fork server is gone, or refused."""


class ForkedProcess:
    """One copy, with what subprocess.Popen offers."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                self.returncode = self._server.ask("poll", pid=self.pid)
            except NoAnswer:
                self.returncode = -signal.SIGKILL  # a copy dies with its server
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            time.sleep(POLL_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """A process that has loaded something, as its client sees it."""

    def __init__(self, path: Path, process: subprocess.Popen[bytes] | ForkedProcess) -> None:
        self.path = path
        self.process = process

    def wait_until_loaded(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.path.exists():
            code = self.process.poll()
            if code is not None or time.monotonic() > deadline:
                raise NoAnswer(f"The fork server at {self.path} did not start (exit code {code}).")
            time.sleep(POLL_SECONDS)

    def start(
        self, module: str, words: Sequence[str], *, environment: Mapping[str, str], log: Path
    ) -> ForkedProcess:
        """Run `python -m module words...` in a copy that leads a process group of its own."""
        pid = self.ask("start", module=module, words=list(words), environment=dict(environment), log=str(log))
        return ForkedProcess(self, pid)

    def ask(self, what: str, **more: Any) -> Any:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(str(self.path))
                connection.sendall(json.dumps({"ask": what} | more).encode() + b"\n")
                with connection.makefile() as answers:
                    answer = json.loads(answers.readline() or '{"error": "no answer"}')
        except OSError as error:
            raise NoAnswer(f"{self.path}: {error}") from error
        if "error" in answer:
            raise NoAnswer(answer["error"])
        return answer["answer"]

    def stop(self) -> None:
        """End it; the kernel ends its copies."""
        self.process.kill()
        self.process.wait()


@cache
def libraries() -> ForkServer:
    """The fork server of this run."""
    folder = Path(tempfile.mkdtemp(prefix="rf-"))  # a unix socket has little room for its path
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = [sys.executable, "-m", "tests.fork_server", str(folder / "s"), "libraries"]
    with (folder / "log").open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, str(die_with_parent.__file__), str(os.getpid()), *program],
            cwd=ROOT,
            env={name: text for name, text in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = ForkServer(folder / "s", process)
    atexit.register(server.stop)
    server.wait_until_loaded()
    return server


def run_command(words: Sequence[str], *, environment: Mapping[str, str], seconds: float) -> tuple[int, str]:
    """Run a management command of the product to its end; return its exit code and all it said."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        process = libraries().start("django", words, environment=environment, log=log)
        try:
            code = process.wait(seconds)
        finally:
            process.kill()
        return code, log.read_text(errors="replace")


class Products:
    """Fork servers that have loaded the product: one for each environment that processes were started with."""

    OF_ONE_PROCESS = frozenset({"PORT", "HOST", "COPILOT_CRASH_AT"})
    WITH_THREADS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "SENTRY_DSN")  # their libraries start some while they load
    numbers = count()

    def __init__(self, log: Path) -> None:
        self.log = log
        self.servers: dict[frozenset[tuple[str, str]], ForkServer] = {}

    @classmethod
    def can_start(cls, environment: Mapping[str, str]) -> bool:
        """Return whether a process with that environment can be a copy: only one with a single thread has copies."""
        return not any(environment.get(name) for name in cls.WITH_THREADS)

    def start(
        self, module: str, words: Sequence[str], *, environment: Mapping[str, str], log: Path
    ) -> ForkedProcess:
        """Run a module of the product, or Celery or Django with it, in that environment."""
        return self._server(environment).start(module, words, environment=environment, log=log)

    def _server(self, environment: Mapping[str, str]) -> ForkServer:
        shared = {name: text for name, text in environment.items() if name not in self.OF_ONE_PROCESS}
        key = frozenset(shared.items())
        if key not in self.servers:
            path = libraries().path.with_name(f"p{next(self.numbers)}")
            process = libraries().start(
                "tests.fork_server", [str(path), "product"], environment=shared, log=self.log
            )
            self.servers[key] = ForkServer(path, process)
            self.servers[key].wait_until_loaded()
        return self.servers[key]

    def stop(self) -> None:
        for server in self.servers.values():
            server.stop()
        self.servers.clear()


# --- the other side -------------------------------------------------------------------------------


def serve(path: Path) -> None:
    """Answer one question after the other on a single thread, for only such a process may be copied."""
    copies: dict[int, Forked] = {}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{path}-")
        listener.listen(64)
        Path(f"{path}-").rename(path)  # who sees it can connect
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile() as questions:
                answer = answer_to(json.loads(questions.readline()), copies)
                connection.sendall(json.dumps(answer).encode() + b"\n")


def answer_to(question: dict[str, Any], copies: dict[int, Forked]) -> dict[str, Any]:
    match question.pop("ask"):
        case "start":
            try:
                copy = forked(**question)
            except (OSError, RuntimeError) as error:
                return {"error": str(error)}
            copies[copy.pid] = copy
            return {"answer": copy.pid}
        case "poll":
            return {"answer": copies[question["pid"]].poll()}
        case other:
            return {"error": f"unknown question {other!r}"}


def forked(*, module: str, words: list[str], environment: dict[str, str], log: str) -> Forked:
    with Path(log).open("ab") as out:
        return Forked(
            "tests.forked_product", [module, *words], name=module, environment=environment, output=out
        )


def load_libraries() -> None:
    for name in LIBRARIES:
        import_module(name)


def load_product() -> None:
    import django

    from tests.forked_product import keep_settings

    keep_settings()
    django.setup()
    from django.urls import get_resolver

    from copilot_project.launcher.product import preload

    preload()
    assert get_resolver().url_patterns
    import_module("copilot_project.asgi")


if __name__ == "__main__":
    {"libraries": load_libraries, "product": load_product}[sys.argv[2]]()
    serve(Path(sys.argv[1]))
