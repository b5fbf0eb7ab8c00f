"""First word, closed loop and processor time beside other people's servers, all asking the same model in one run.

The peers are small chats on Chainlit, LangGraph and the AI SDK, written as their documentation shows, each installed in
a scratch environment. A bare proxy is the limit. None of the peers keeps an answer: Ratchet is the only one that would
survive the death of a process here. What cannot be installed is left out and named.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.idle import with_descendants
from benchmarks.peer_servers.installation import CannotInstall, node_packages, python_packages
from benchmarks.side_by_side import Goal, Report, Series, Size, at_most, cpu_seconds
from tests.harness import PEOPLE, Stack, eventually, free_port

TITLE = "answers of 200 words, 5 ms apart, from the same model; all conversations of a row start at once"
SERVERS = Path(__file__).resolve().parent / "peer_servers"
SPACED, DENSE = "words-200-5", "words-200-0"
CROWDS = (1, 10, 50, 100)
USERS = 40
DENSE_AT_ONCE = 30
SETTLE_SECONDS = 1.0  # what a server does after the answer has ended is part of its cost
LOAD_SECONDS = 300
STOP_SECONDS = 20
AT_ONCE_LIMIT, CLOSED_LOOP_LIMIT, CPU_LIMIT = 700.0, 350.0, 25.0
THREADS = 128  # as `./copilot up` has
CHAINLIT = ("chainlit==2.12.0", "openai==3.51.0")
LANGGRAPH = ("langgraph-cli[inmem]==0.4.40", "langchain-openai==1.7.3")
AI_SDK = ("ai@6.0.326", "@ai-sdk/openai-compatible@2.0.87")


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running server of the comparison, and how to ask it."""

    name: str
    protocol: str
    port: int
    pids: tuple[int, ...]
    python: str = sys.executable
    headers: dict[str, str] = field(default_factory=dict)
    paths: Callable[[str, int], list[str]] = lambda model, number: ["/"]

    def ask(self, model: str, **how: float) -> dict[str, list[float]]:
        """Return the seconds to each first word and to the end of each answer."""
        number = int(how.get("at_once") or how["users"])
        order = {
            "server": self.protocol, "url": f"http://127.0.0.1:{self.port}", "headers": self.headers,
            "model": model, "paths": self.paths(model, number), **how,
        }  # fmt: skip
        done = subprocess.run(
            [self.python, str(SERVERS / "load.py")],
            input=json.dumps(order) + "\n", capture_output=True, text=True, timeout=LOAD_SECONDS,
            check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{self.name} did not answer:\n{done.stderr[:2000]}")
        found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
        return found

    def cpu(self) -> float:
        return sum(cpu_seconds(pid) for root in self.pids for pid in with_descendants(root))


def run(stack: Stack, size: Size, report: Report) -> None:
    with ExitStack() as stopping:
        model_url = stopping.enter_context(model(stack.home))
        servers = {"ratchet": ratchet(stack, model_url)}
        for name, start in PEERS.items():
            try:
                servers[name] = stopping.enter_context(start(stack.home, model_url))
            except CannotInstall as error:
                report.remark(f"without {name}: {error}")
        for server in servers.values():
            server.ask(SPACED, at_once=3)  # imports, caches, connections
        for number in size.pick(CROWDS[:1], CROWDS, CROWDS):
            compare_crowd(report, servers, number, size)
        compare_closed_loop(report, servers, size)
        compare_cpu(report, servers, size)
    report.remark("chainlit and the AI SDK keep nothing; langgraph keeps runs in the memory of one process")


def compare_crowd(report: Report, servers: dict[str, Server], number: int, size: Size) -> None:
    found: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(size.pick(1, 2, 5) * (10 if number == 1 and size is not Size.TINY else 1)):
        for name, server in servers.items():
            found[name] += [seconds * 1000 for seconds in server.ask(SPACED, at_once=number)["first"]]
    goal = at_most(AT_ONCE_LIMIT) if number == max(CROWDS) else None
    for share, quantile in ((0.5, "p50"), (0.95, "p95")):
        add(report, f"first word, {number} at once, {quantile}", found, share, goal if share == 0.5 else None)


def compare_closed_loop(report: Report, servers: dict[str, Server], size: Size) -> None:
    users, seconds = size.pick(2, USERS, USERS), size.pick(1, 8, 30)
    found = {
        name: [value * 1000 for value in server.ask(SPACED, users=users, seconds=seconds)["first"]]
        for name, server in servers.items()
    }
    add(report, f"first word, {users} users in a closed loop, p95", found, 0.95, at_most(CLOSED_LOOP_LIMIT))


def compare_cpu(report: Report, servers: dict[str, Server], size: Size) -> None:
    """Processor time of everything that belongs to a server, per answer without gaps; the model's is not in it."""
    found: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(size.repetitions):
        for name, server in servers.items():
            before = server.cpu()
            server.ask(DENSE, at_once=DENSE_AT_ONCE)
            time.sleep(SETTLE_SECONDS)
            found[name].append((server.cpu() - before) / DENSE_AT_ONCE * 1000)
    add(report, "processor time per answer without gaps", found, 0.5, at_most(CPU_LIMIT))


def add(report: Report, what: str, found: dict[str, list[float]], share: float, goal: Goal | None) -> None:
    values = {name: Series.of([Series.of(rows).quantile(share)]) for name, rows in found.items()}
    ours = values.pop("ratchet")
    for number, (name, theirs) in enumerate(values.items()):
        report.add(f"{what}: against {name}", "ms", ours, theirs, None if number else goal)


# --- servers --------------------------------------------------------------------------------------


@contextmanager
def model(home: Path) -> Iterator[str]:
    port = free_port()
    with process(home, "model", [sys.executable, str(SERVERS / "model.py"), str(port)], port):
        yield f"http://127.0.0.1:{port}/v1"


def ratchet(stack: Stack, model_url: str) -> Server:
    """The product as `./copilot up` runs it: one web process, one worker for turns."""
    endpoint = [{"name": "bench", "url": model_url, "key": "none", "models": [SPACED, DENSE]}]
    stack.env = {**stack.env, "COPILOT_ENDPOINTS": json.dumps(endpoint), "COPILOT_MODEL": f"bench/{SPACED}"}
    stack.start_model()
    stack.start_web(0)
    stack.start_worker(0, threads=THREADS)
    stack.wait_ready(1)
    client = stack.client(PEOPLE[0])

    def paths(name: str, number: int) -> list[str]:
        sessions = [client.new_session(title="bench", model=f"bench/{name}") for _ in range(number)]
        return [f"/api/sessions/{session}/stream" for session in sessions]

    return Server(
        name="ratchet",
        protocol="ratchet",
        port=stack.web_port(0),
        pids=tuple(stack.processes[name].pid for name in ("web0", "worker0", "redis")),
        headers={"Authorization": f"Bearer {client.key}"},
        paths=paths,
    )


@contextmanager
def proxy(home: Path, model_url: str) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, str(SERVERS / "proxy.py"), str(port)]
    with process(home, "proxy", command, port, MODEL_URL=model_url) as pid:
        yield Server(name="proxy", protocol="proxy", port=port, pids=(pid,), paths=lambda *_: ["/chat"])


@contextmanager
def chainlit(home: Path, model_url: str) -> Iterator[Server]:
    programs, port = python_packages("chainlit", *CHAINLIT), free_port()
    place = own_folder(home, "chainlit", "chainlit_app.py")
    command = [str(programs / "chainlit"), "run", "chainlit_app.py", "--headless", "--port", str(port)]
    with process(home, "chainlit", command, port, folder=place, MODEL_URL=model_url) as pid:
        python = str(programs / "python")
        yield Server(name="chainlit", protocol="chainlit", port=port, pids=(pid,), python=python)


@contextmanager
def langgraph(home: Path, model_url: str) -> Iterator[Server]:
    programs, port = python_packages("langgraph", *LANGGRAPH), free_port()
    place = own_folder(home, "langgraph", "langgraph_app.py")
    settings = {"dependencies": ["."], "graphs": {"chat": "./langgraph_app.py:graph"}}
    (place / "langgraph.json").write_text(json.dumps(settings))
    command = [str(programs / "langgraph"), "dev", "--no-browser", "--no-reload", "--port", str(port),
               "--n-jobs-per-worker", "100"]  # fmt: skip
    environment = {"MODEL_URL": model_url, "LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1",
                   "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}  # fmt: skip
    with process(home, "langgraph", command, port, folder=place, **environment) as pid:
        yield Server(
            name="langgraph", protocol="langgraph", port=port, pids=(pid,), paths=lambda *_: ["/runs/stream"]
        )


@contextmanager
def ai_sdk(home: Path, model_url: str) -> Iterator[Server]:
    packages, port = node_packages("ai-sdk", *AI_SDK), free_port()
    shutil.copy(SERVERS / "ai_sdk_server.mjs", packages)  # Node looks for packages beside the file
    command = ["node", "ai_sdk_server.mjs", str(port)]
    with process(home, "ai_sdk", command, port, folder=packages, MODEL_URL=model_url) as pid:
        yield Server(name="the AI SDK", protocol="ai_sdk", port=port, pids=(pid,))


PEERS = {
    "a bare proxy": proxy,
    "the AI SDK on Node": ai_sdk,
    "Chainlit": chainlit,
    "LangGraph": langgraph,
}


def own_folder(home: Path, name: str, file: str) -> Path:
    place = home / name
    place.mkdir()
    shutil.copy(SERVERS / file, place)
    return place


@contextmanager
def process(
    home: Path, name: str, command: list[str], port: int, *, folder: Path | None = None, **env: str
) -> Iterator[int]:
    """Run a server until the end, once it listens."""
    with (home / f"peer-{name}.log").open("wb") as out:
        started = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **env}, stdout=out, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    try:
        eventually(lambda: started.poll() is not None or listens(port), what=name)
        if started.poll() is not None:
            raise CannotInstall((home / f"peer-{name}.log").read_text(errors="replace")[-500:])
        yield started.pid
    finally:
        started.terminate()
        try:
            started.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
