"""The acceptance tests' stack as a deployment: `./copilot test tests/system/acceptance --stack=deployment`.

What those tests call a web process or a worker is here a machine with several processes of docker/entrypoint: at
least two web processes, three workers for turns, one for operations and one for agents; beat and the consumer of
completions run beside them. PostgreSQL, RabbitMQ and Redis are real, and every client comes through a proxy that gives
each request to the next web process.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx

from tests.harness import ALL_QUEUES, ROOT, Client, Stack, eventually, free_port, prepare
from tests.services import made, new_broker, prepared_database
from tests.system.deployment.proxy import proxy_of_this_run
from tests.system.deployment.roles import ENTRYPOINT, PRODUCTION

HOST = ROOT / "tests" / "system" / "deployment" / "host.py"
WEB_PROCESSES = 2
TURN_WORKERS = 3
START_SECONDS = 240.0  # a dozen processes at once
ROLES = {"worker": "turns", "operations": "operations,webhooks", "executions": "executions"}


@dataclass
class DeployedStack(Stack):
    """Machines named as the tests name their processes."""

    around: ExitStack = field(default_factory=ExitStack)
    ports_of: dict[int, list[int]] = field(default_factory=dict)

    def start(self, *, workers: int = 1, webs: int = 1) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.proxy = self.around.enter_context(proxy_of_this_run())
        if self.database_url:
            self.keys = self.keys or prepare(self.home, self.database_url, "")
        else:
            self.database_url, self.keys = self.around.enter_context(prepared_database())
        if not self.broker_url:
            self.broker_url = self.around.enter_context(borrowed_broker())
        self.start_redis()
        self.start_model()
        for number in range(webs):
            self.ports_of[number] = [free_port() for _ in range(max(1, WEB_PROCESSES // webs))]
        self.web_ports = [port for ports in self.ports_of.values() for port in ports]
        self.proxy.serve(self.web_ports)
        for number in range(webs):
            self.start_web(number)
        for number in range(workers):
            self.start_worker(number)
        self.start_consumer()
        self.start_beat("beat")
        for port in self.web_ports:
            eventually(partial(self.is_up, port), seconds=START_SECONDS, what=f"web on {port}")
        if workers:
            eventually(lambda: self._answers("/readyz"), seconds=START_SECONDS, what="a worker")

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        behind = {
            "PATH": path,
            "HOST": "127.0.0.1",
            "SITE_URL": self.url(),
            "COPILOT_TRUSTED_PROXIES": "127.0.0.1",
        }
        return super().environment(PRODUCTION | behind | dict(more or {}))

    def start_web(self, number: int = 0, *, crash_at: str = "") -> None:
        ports = self.ports_of[number]
        self.start_machine(f"web{number}", [("web", {"PORT": str(port)}) for port in ports], crash_at)

    def start_worker(
        self,
        number: int = 0,
        *,
        crash_at: str = "",
        threads: int = 32,
        queues: str = ALL_QUEUES,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Three processes for turns; one where a test counts the threads, or wants to see one die."""
        variables = {
            f"COPILOT_{name}_CONCURRENCY": str(threads) for name in ("WORKER", "OPERATIONS", "EXECUTIONS")
        } | dict(env or {})
        roles = [role for role, served in ROLES.items() if set(served.split(",")) & set(queues.split(","))]
        if "worker" in roles and threads > 1 and not crash_at:
            roles += ["worker"] * (TURN_WORKERS - 1)
        self.start_machine(f"worker{number}", [(role, variables) for role in roles], crash_at)

    def start_consumer(self, name: str = "consumer", *, crash_at: str = "") -> None:
        self.kill_if_there(name)
        self.start_machine(name, [("completions --claim-idle 1", {})], crash_at)

    def crashing(self, point: str) -> dict[str, str]:
        """Production does not die on purpose, so this machine is none of it."""
        return super().crashing(point) | {"COPILOT_PRODUCTION": ""} if point else {}

    def start_beat(self, name: str) -> None:
        self.start_machine(name, [("beat", {})])

    @contextmanager
    def own_beat_stopped(self) -> Iterator[None]:
        self.kill_if_there("beat")
        del self.processes["beat"]
        try:
            yield
        finally:
            self.start_beat("beat")

    def kill_if_there(self, name: str) -> None:
        if name in self.processes:
            self.kill(name)

    def start_machine(self, name: str, roles: list[tuple[str, dict[str, str]]], crash_at: str = "") -> None:
        rows = [
            {"command": [str(ENTRYPOINT), *words.split()], "env": variables | self.crashing(crash_at)}
            for words, variables in roles
        ]
        self.launch(name, str(HOST), json.dumps(rows))

    def is_up(self, port: int) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=60).status_code == 200
        except httpx.HTTPError:
            return False

    def url(self, web: int = 0) -> str:
        """Whichever web process a test asks for, it gets the proxy."""
        return self.proxy.url

    def client(self, person: str = "ann", web: int = 0) -> Client:
        return Client(self.url(), self.keys[person])

    def stop(self) -> None:
        super().stop()
        self.around.close()


# --- made once per run ----------------------------------------------------------------------------

free_brokers: list[str] = []


@contextmanager
def borrowed_broker() -> Iterator[str]:
    """A RabbitMQ host that no other stack has now; what the last one left in its queues are hints nobody follows."""
    url = free_brokers.pop() if free_brokers else made.enter_context(new_broker())
    try:
        yield url
    finally:
        free_brokers.append(url)
