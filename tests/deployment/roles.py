"""The product as it is deployed: the roles of docker/entrypoint as separate processes behind a proxy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from cryptography.fernet import Fernet

from tests.deployment.proxy import Proxy, round_robin
from tests.rig import LEASH, ROOT, START_SECONDS, Client, Stack, eventually, free_port, prepare

ENTRYPOINT = ROOT / "docker" / "entrypoint"
ROLES = ("worker", "worker", "operations", "executions", "beat", "completions")
STOP_SECONDS = 40.0
PRODUCTION = {
    "COPILOT_PRODUCTION": "true",
    "SECRET_KEY": "a-key-for-one-test-that-nobody-else-knows-0123456789-abcdef",
    "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
    "ALLOWED_HOSTS": "127.0.0.1",
}


@dataclass
class Deployment(Stack):
    """Two web processes behind a proxy and one process per other role; names are role and number."""

    proxy: Proxy | None = None
    count: int = 0
    live: dict[str, str] = field(default_factory=dict)  # process name: role

    def deploy(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.start_redis()
        self.run_role("migrate")
        self.keys = prepare(self.home, self.database_url, "")
        self.launch("model", "manage.py", "offline_model", "--port", str(self.model_port), "--control")
        self.web_ports = [free_port(), free_port()]
        for number in range(len(self.web_ports)):
            self.start_role("web", PORT=str(self.web_ports[number]))
        for role in ROLES:
            self.start_role(role)
        for number in range(len(self.web_ports)):
            self.wait_for_web(number)
        eventually(lambda: self._answers("/readyz"), seconds=START_SECONDS, what="a worker")

    def role_environment(self, **more: str) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return self.environment(PRODUCTION | {"PATH": path, "HOST": "127.0.0.1"} | more)

    def run_role(self, role: str, *words: str) -> str:
        result = subprocess.run(
            [str(ENTRYPOINT), role, *words],
            env=self.role_environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    def start_role(self, role: str, **more: str) -> str:
        self.count += 1
        name = f"{role}-{self.count}"
        with (self.home / f"{name}.log").open("ab") as out:
            self.processes[name] = subprocess.Popen(
                [sys.executable, str(LEASH), str(os.getpid()), str(ENTRYPOINT), role],
                env=self.role_environment(**more),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.live[name] = role
        return name

    def wait_for_web(self, number: int) -> None:
        def up() -> bool:
            try:
                return httpx.get(f"{self.url(number)}/healthz", timeout=2).status_code == 200
            except httpx.HTTPError:
                return False

        eventually(up, seconds=START_SECONDS, what=f"web {number}")

    def stop_role(self, name: str) -> None:
        """As a deployment does it: SIGTERM, and patience."""
        process = self.processes.pop(name)
        del self.live[name]
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(STOP_SECONDS)

    def through_proxy(self, person: str = "ann") -> Client:
        assert self.proxy is not None
        return Client(f"http://127.0.0.1:{self.proxy.port}", self.keys[person])


@contextmanager
def deployed(home: Path, **options: Any) -> Iterator[Deployment]:
    deployment = Deployment(home, **options)
    try:
        deployment.deploy()
        with round_robin(deployment.web_ports) as proxy:
            deployment.proxy = proxy
            yield deployment
    finally:
        deployment.stop()
