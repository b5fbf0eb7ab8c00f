"""The whole product as separate real processes, for tests that look at it from outside and kill parts of it."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import httpx
import psycopg
from celery import Celery

from copilot_project.launcher.redis import is_up
from tests.fork_server import ForkedProcess, Products, libraries, run_command
from tests.redis_server import start_server

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
DIE_WITH_PARENT = (
    ROOT / "copilot_project" / "launcher" / "die_with_parent.py"
)  # nothing outlives the tests, not even a killed run
START_SECONDS = 180.0  # generous: a loaded machine is slow, not broken
SETTLE_SECONDS = 180.0
REQUEST_SECONDS = 60.0
LOG_LINES = 400  # with the stacks of a worker's threads
CRY_SECONDS = 1.0
FIRST_PAUSE, LAST_PAUSE = 0.02, 0.2
ALL_QUEUES = "turns,operations,executions,webhooks"
PEOPLE = ("ann", "bob", "cay")
SHARED = "TEST_SHARED"  # names the folder of things that all processes of a run need only one of
PREPARE = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
from accounts.models import User
from accounts.api_keys import create_api_key
import json
keys = {}
for name in %r:
    user = User.objects.create_user(name, password="a good password")
    keys[name] = create_api_key(user, "tests")
print("KEYS " + json.dumps(keys))
"""


def eventually(
    look: Callable[[], T],
    *,
    seconds: float = SETTLE_SECONDS,
    what: str = "",
    progress: Callable[[], object] | None = None,
) -> T:
    """Poll until `look` gives something true; fail with what it gave last.

    The time limit begins anew whenever `progress` gives another value: a loaded machine is slow, not broken.
    """
    started, pause, mark = time.monotonic(), FIRST_PAUSE, progress and progress()
    while True:
        found = look()
        if found:
            return found
        if progress is not None and (now := progress()) != mark:
            started, mark = time.monotonic(), now
        if time.monotonic() > started + seconds * Kinds.patience:
            raise AssertionError(f"{what or look} did not come within {seconds} s; last: {found!r}")
        time.sleep(pause)
        pause = min(LAST_PAUSE, pause * 1.2)  # a long wait need not keep the web process busy with questions


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def base_env(home: Path, database_url: str, redis_url: str) -> dict[str, str]:
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COPILOT_", "OPENAI_", "ANTHROPIC_", "CELERY_"))
        and name != "PYTHONDONTWRITEBYTECODE"  # many processes start, and each would compile everything anew
    }
    return env | {
        "COPILOT_HOME": str(home),
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "PYTHONUNBUFFERED": "1",
        "COPILOT_TEST_TOOLS": "1",
        "DJANGO_SETTINGS_MODULE": "copilot_project.settings",
    }


def prepare(home: Path, database_url: str, redis_url: str) -> dict[str, str]:
    """Make the tables and three people; answers their API keys."""
    command = ["shell", "--no-imports", "-c", PREPARE % (PEOPLE,)]
    environment = base_env(home, database_url, redis_url)
    _, said = run_command(command, environment=environment, seconds=START_SECONDS)
    for line in said.splitlines():
        if line.startswith("KEYS "):
            keys: dict[str, str] = json.loads(line.removeprefix("KEYS "))
            return keys
    raise RuntimeError(f"The test database could not be made:\n{said}")


@lru_cache(maxsize=1)
def prepared_sqlite() -> tuple[Path, dict[str, str]]:
    """A home folder with a ready database, made once per run and copied for each stack."""
    if shared := os.environ.get(SHARED):
        return prepared_for_all(Path(shared))
    folder = Path(tempfile.mkdtemp(prefix="ratchet-template-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return prepared_for_all(folder)


def prepared_for_all(folder: Path) -> tuple[Path, dict[str, str]]:
    """The processes of a run share it: the first one makes it, and the others wait for that."""
    home, keys = folder / "home", folder / "keys.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not keys.exists():
            shutil.rmtree(home, ignore_errors=True)  # of a process that died over it
            home.mkdir(mode=0o700)
            keys.write_text(json.dumps(prepare(home, "", "")))
    return home, json.loads(keys.read_text())


@dataclass
class Stack:
    """Redis, model, web processes and workers of one test."""

    home: Path
    database_url: str = ""
    broker_url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    append_only: bool = True
    lease_seconds: float = 3.0
    keys: dict[str, str] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes] | ForkedProcess] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.socket = self.home / "r.sock"
        self.model_port = free_port()
        self.web_ports: list[int] = []
        self.products = Products(self.home / "fork_server.log")

    # --- processes --------------------------------------------------------------------------------

    def start(self, *, workers: int = 1, webs: int = 1) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.start_redis()
        if self.database_url:
            self.keys = self.keys or prepare(self.home, self.database_url, "")
        else:
            template, self.keys = prepared_sqlite()
            shutil.copytree(template, self.home, dirs_exist_ok=True)
        self.start_model()
        for number in range(webs):
            self.start_web(number)
        for number in range(workers):
            self.start_worker(number)
        self.wait_ready(workers)

    def start_redis(self) -> None:
        self.processes["redis"] = start_server(self.home / "redis", self.socket, append_only=self.append_only)
        eventually(lambda: is_up(self.socket, timeout=REQUEST_SECONDS), seconds=START_SECONDS, what="Redis")

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        env = base_env(self.home, self.database_url, f"unix://{self.socket}") | {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.model_port}/v1",
            "OPENAI_API_KEY": "offline",
            "COPILOT_MODEL": "offline",
            "COPILOT_LEASE_SECONDS": str(self.lease_seconds),
            "COPILOT_HEARTBEAT_SECONDS": str(self.lease_seconds / 3),
            "COPILOT_TEST_FOREIGN_FILE": str(self.home / "effects.txt"),
        }
        if self.broker_url:
            env["CELERY_BROKER_URL"] = self.broker_url
        return env | dict(self.env) | dict(more or {})

    def launch(
        self, name: str, *command: str, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        with (self.home / f"{name}.log").open("ab") as out:
            process = subprocess.Popen(
                [sys.executable, str(DIE_WITH_PARENT), str(os.getpid()), sys.executable, *command],
                cwd=ROOT,
                env=self.environment(env),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes[name] = process
        return process

    def fork(self, name: str, module: str, *words: str, env: Mapping[str, str] | None = None) -> None:
        """Run a module of the product, or Celery or Django with it."""
        environment, log = self.environment(env), self.home / f"{name}.log"
        if not self.products.can_start(environment):
            self.launch(name, "-m", module, *words, env=env)
            return
        self.processes[name] = self.products.start(module, words, environment=environment, log=log)

    def start_web(self, number: int = 0, *, crash_at: str = "") -> None:
        env = {"PORT": str(self.web_port(number)), "HOST": "127.0.0.1"} | self.crashing(crash_at)
        self.fork(f"web{number}", "copilot_project.server", env=env)

    def web_port(self, number: int) -> int:
        while len(self.web_ports) <= number:
            self.web_ports.append(free_port())
        return self.web_ports[number]

    def start_worker(
        self,
        number: int = 0,
        *,
        crash_at: str = "",
        threads: int = 32,
        queues: str = ALL_QUEUES,
        env: Mapping[str, str] | None = None,
    ) -> None:
        command = (
            "-A", "copilot_project", "worker", "-P", "threads", "-c", str(threads),
            "-Q", queues, "-n", f"w{number}@{self.home.name}", "-l", "INFO",
            "--without-gossip", "--without-mingle",
        )  # fmt: skip
        self.fork(f"worker{number}", "celery", *command, env=self.crashing(crash_at) | dict(env or {}))

    @contextmanager
    def worker(self, number: int = 0, **options: Any) -> Iterator[None]:
        """A worker that is ready, for one test of a stack that others use after it."""
        name = f"worker{number}"
        before = self.said_ready(name)
        self.start_worker(number, **options)
        try:
            eventually(
                lambda: self.said_ready(name) > before or self.processes[name].poll() is not None,
                seconds=START_SECONDS,
                what=name,
            )
            yield
        finally:
            self.kill(name)

    def said_ready(self, name: str) -> int:
        """How often a worker of that name has come up."""
        path = self.home / f"{name}.log"
        return path.read_text(errors="replace").count(" ready.") if path.exists() else 0

    def start_model(self) -> None:
        words = ("llm", "offline_model", "--port", str(self.model_port), "--control")
        self.processes["model"] = libraries().start(
            "copilot_project.launcher.fast_command",
            words,
            environment=self.environment(),
            log=self.home / "model.log",
        )

    def start_consumer(self, name: str = "consumer", *, crash_at: str = "") -> None:
        """Somebody who hears what outside services say, and soon takes over what another left behind."""
        words = ("consume_completions", "--claim-idle", "1")
        self.fork(name, "django", *words, env=self.crashing(crash_at))

    def start_beat(self, name: str) -> None:
        self.fork(name, "celery", "-A", "copilot_project", "beat", "--pidfile=", "-l", "INFO")

    @contextmanager
    def own_beat_stopped(self) -> Iterator[None]:
        """For tests that bring their own; here nothing happens by the clock anyway."""
        yield

    def crashing(self, point: str) -> dict[str, str]:
        """The variables of a process that dies where it gets to that point first."""
        return {"COPILOT_CRASH_AT": f"{point}:{self.home / f'crashed-{point}'}"} if point else {}

    def kill(self, name: str, how: int = signal.SIGKILL) -> None:
        """Signal a process and everything it started."""
        process = self.processes[name]
        try:
            os.killpg(process.pid, how) if name != "redis" else process.send_signal(how)
        except ProcessLookupError:
            return
        if how == signal.SIGKILL:
            process.wait(START_SECONDS)

    def wait_ready(self, workers: int) -> None:
        eventually(lambda: self._answers("/healthz"), seconds=START_SECONDS, what="the web process")
        if workers:
            eventually(lambda: self._answers("/readyz"), seconds=START_SECONDS, what="a worker")

    def _answers(self, path: str) -> bool:
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise AssertionError(f"{name} ended with {process.returncode}:\n{self.log(name)}")
        try:
            return httpx.get(self.url() + path, timeout=REQUEST_SECONDS).status_code == 200
        except httpx.HTTPError:
            return False

    def log(self, name: str, lines: int = 40) -> str:
        path = self.home / f"{name}.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)
        self.products.stop()

    # --- as a client ------------------------------------------------------------------------------

    def url(self, web: int = 0) -> str:
        return f"http://127.0.0.1:{self.web_ports[web]}"

    def client(self, person: str = "ann", web: int = 0) -> Client:
        return Client(self.url(web), self.keys[person])

    def model_requests(self) -> list[dict[str, Any]]:
        found = httpx.get(
            f"http://127.0.0.1:{self.model_port}/control/requests", timeout=REQUEST_SECONDS
        ).json()
        return found if isinstance(found, list) else list(found["requests"])

    def release(self, gate: str) -> None:
        url = f"http://127.0.0.1:{self.model_port}/control/release"
        httpx.post(url, json={"gate": gate}, timeout=REQUEST_SECONDS).raise_for_status()

    def effects(self) -> list[str]:
        path = self.home / "effects.txt"
        return path.read_text().splitlines() if path.exists() else []

    # --- behind everybody's back ------------------------------------------------------------------

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement with `?` for values; ids come as plain hex and times as UTC, whatever the database."""
        if not self.database_url:
            with closing(sqlite3.connect(self.home / "copilot.sqlite3", timeout=30)) as database, database:
                return list(database.execute(query, values))
        with psycopg.connect(self.database_url, autocommit=True, options="-c timezone=UTC") as server:
            found = server.execute(query.replace("%", "%%").replace("?", "%s"), values)
            rows = found.fetchall() if found.description else []
        return [tuple(as_sqlite_has_it(value) for value in row) for row in rows]

    def send_task(self, name: str, *words: str, queue: str) -> None:
        """A message to the workers that nobody sent."""
        self.celery().send_task(name, args=words, queue=queue)

    def celery(self) -> Celery:
        """A Celery app of an outsider, on this stack's broker."""
        app = Celery(broker=self.broker_url or f"redis+socket://{self.socket}", set_as_current=False)
        if not self.broker_url:
            app.conf.broker_transport_options = {"global_keyprefix": "ratchet:"}
        return app


def as_sqlite_has_it(value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return value.hex
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    return value


class Client:
    """One person's way in, by HTTP and API key."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = key
        self.http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=REQUEST_SECONDS
        )

    def new_session(self, **body: Any) -> str:
        return str(self._ok(self.http.post("/api/sessions", json=body))["id"])

    def send(self, session: str, message: str | dict[str, Any], **more: Any) -> dict[str, Any]:
        answer = self._ok(
            self.http.post(f"/api/sessions/{session}/turns", json={"message": as_text(message), **more})
        )
        turn: dict[str, Any] = answer["turn"]
        return turn

    def turn(self, turn_id: str) -> dict[str, Any]:
        return self._ok(self.http.get(f"/api/turns/{turn_id}"))

    def show(self, turn_id: str) -> dict[str, Any]:
        """Choose a version of a message."""
        return self._ok(self.http.post(f"/api/turns/{turn_id}/show"))

    def session(self, session: str) -> dict[str, Any]:
        return self._ok(self.http.get(f"/api/sessions/{session}"))

    def wait(self, turn_id: str, *, seconds: float = SETTLE_SECONDS) -> dict[str, Any]:
        turn: dict[str, Any] = {}

        def ended() -> dict[str, Any] | None:
            turn.update(self.turn(turn_id))
            return turn if turn["status"] in ("completed", "failed", "cancelled") else None

        what = f"the end of turn {turn_id}"
        found = eventually(ended, seconds=seconds, what=what, progress=lambda: str(turn))
        assert found is not None
        return found

    def answer(self, session: str) -> dict[str, Any]:
        """The newest assistant message."""
        messages = self.session(session)["messages"]
        return next(message for message in reversed(messages) if message["role"] == "assistant")

    def _ok(self, response: httpx.Response) -> dict[str, Any]:
        assert response.is_success, (
            f"{response.request.method} {response.request.url}: {response.status_code} {response.text}"
        )
        body: dict[str, Any] = response.json()
        return body

    def events(
        self, turn_id: str, after: str = "", *, timeout: float = 30.0
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """(id, chunk) as they come over SSE, until [DONE] or the connection's end."""
        headers = {"Last-Event-ID": after} if after else {}
        limit = httpx.Timeout(REQUEST_SECONDS, read=timeout)
        with self.http.stream(
            "GET", f"/api/turns/{turn_id}/stream", headers=headers, timeout=limit
        ) as response:
            assert response.status_code == 200, response.read()
            yield from parse_sse(response.iter_lines())


def as_text(message: str | dict[str, Any]) -> str:
    return message if isinstance(message, str) else "SCRIPT:\n" + json.dumps(message)


def parse_sse(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    at = ""
    for line in lines:
        if line.startswith("id:"):
            at = line[3:].strip()
        elif line.startswith("data:"):
            data = line[5:].strip()
            if data == "[DONE]":
                return
            yield at, json.loads(data)


class Reader:
    """A client that keeps its place: rejoins after every cut, drops what a reset voids."""

    def __init__(self, client: Client, turn_id: str) -> None:
        self.client = client
        self.turn_id = turn_id
        self.at = ""
        self.steps: list[list[dict[str, Any]]] = [[]]
        self.resets = 0
        self.finished = False
        self.kinds: list[str] = []

    def read_to_end(self, *, seconds: float = SETTLE_SECONDS) -> Reader:
        """Fails when nothing was heard for so long."""
        deadline = time.monotonic() + seconds * Kinds.patience
        while not self.finished:
            try:
                for at, chunk in self.client.events(self.turn_id, self.at):
                    self.hear(at, chunk)
                    deadline = time.monotonic() + seconds * Kinds.patience
            except (httpx.HTTPError, AssertionError):
                time.sleep(0.1)
            if not self.finished and time.monotonic() > deadline:
                raise AssertionError(f"No finish within {seconds} s after {self.at}; heard {self.kinds[-5:]}")
        return self

    def hear(self, at: str, chunk: dict[str, Any]) -> None:
        assert at, chunk
        self.at = at
        kind = chunk["type"]
        self.kinds.append(kind)
        if kind == "data-turn" and "reset_to_step" in chunk["data"]:
            self.resets += 1
            del self.steps[chunk["data"]["reset_to_step"] + 1 :]
        elif kind == "start-step":
            self.steps.append([])
        elif kind == "finish":
            self.finished = True
        self.steps[-1].append(chunk)

    @property
    def text(self) -> str:
        return "".join(
            chunk["delta"] for step in self.steps for chunk in step if chunk["type"] == "text-delta"
        )


class Kinds:
    """What `running_stack` makes: everything small on one machine, unless a run asks for another kind."""

    chosen: type[Stack] = Stack
    patience: float = 1.0  # how much longer everything may take
    running: ClassVar[list[Stack]] = []


@contextmanager
def running_stack(home: Path, *, workers: int = 1, webs: int = 1, **options: Any) -> Iterator[Stack]:
    stack = Kinds.chosen(home, **options)
    Kinds.running.append(stack)
    try:
        stack.start(workers=workers, webs=webs)
        yield stack
    finally:
        Kinds.running.remove(stack)
        stack.stop()


def last_words() -> list[tuple[str, str]]:
    """What the processes of the running stacks said last; workers are asked what each of their threads is at."""
    for stack in Kinds.running:
        for name, process in stack.processes.items():
            if name.startswith("worker") and process.poll() is None:
                process.send_signal(signal.SIGUSR1)  # Celery's own: it prints all stacks
    time.sleep(CRY_SECONDS if Kinds.running else 0)
    return [
        (f"Log of {name}", stack.log(name, LOG_LINES)) for stack in Kinds.running for name in stack.processes
    ]
