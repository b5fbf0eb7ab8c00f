"""The product as it is deployed: the roles of docker/entrypoint as separate processes behind a proxy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from cryptography.fernet import Fernet

from tests.harness import DIE_WITH_PARENT, ROOT, START_SECONDS, Client, Stack, eventually, free_port, prepare
from tests.system.deployment.proxy import AnyProxy, proxy_of_this_run

ENTRYPOINT = ROOT / "docker" / "entrypoint"
HEALTHCHECK = ROOT / "docker" / "healthcheck"
ROLES = ("worker", "worker", "worker", "operations", "executions", "beat", "completions")
STOP_SECONDS = 120.0
PRODUCTION = {
    "COPILOT_PRODUCTION": "true",
    "SECRET_KEY": "a-key-for-one-test-that-nobody-else-knows-0123456789-abcdef",
    "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
    "ALLOWED_HOSTS": "127.0.0.1",
    "COPILOT_TRUSTED_PROXIES": "127.0.0.1",
}


@dataclass
class Deployment(Stack):
    """Two web processes behind a proxy and one process per other role; names are role and number."""

    proxy: AnyProxy | None = None
    site_port: int = field(default_factory=free_port)
    count: int = 0
    live: dict[str, str] = field(default_factory=dict)  # process name: role

    def deploy(self, roles: Sequence[str] = ROLES) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.start_redis()
        self.run_role("migrate")
        self.keys = prepare(self.home, self.database_url, "")
        self.start_model()
        self.web_ports = self.web_ports or [free_port(), free_port()]
        self.web_names = [self.start_role("web", PORT=str(port)) for port in self.web_ports]
        for role in roles:
            self.start_role(role)
        for number in range(len(self.web_ports)):
            self.wait_for_web(number)
        eventually(lambda: self._answers("/readyz"), seconds=START_SECONDS, what="a worker")

    def role_environment(self, **more: str) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        site = f"https://127.0.0.1:{self.site_port}"
        told = {"PATH": path, "HOST": "127.0.0.1", "SITE_URL": site, "CSRF_TRUSTED_ORIGINS": site}
        return self.environment(PRODUCTION | told | more)

    def role_command(self, *words: str) -> list[str]:
        return [str(ENTRYPOINT), *words]

    def run_role(self, role: str, *words: str, **more: str) -> str:
        result = self.try_role(role, *words, **more)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def try_role(self, role: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.role_command(role, *words),
            env=self.role_environment(**more),
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )

    def start_role(self, role: str, **more: str) -> str:
        self.count += 1
        name = f"{role}-{self.count}"
        with (self.home / f"{name}.log").open("ab") as out:
            self.processes[name] = subprocess.Popen(
                [sys.executable, str(DIE_WITH_PARENT), str(os.getpid()), *self.role_command(role)],
                env=self.role_environment(COPILOT_ALIVE_FILE=str(self.home / f"{name}.alive"), **more),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.live[name] = role
        return name

    def wait_for_web(self, number: int) -> None:
        eventually(lambda: answers(self.url(number)), seconds=START_SECONDS, what=f"web {number}")

    def stop_role(self, name: str) -> None:
        """As a deployment does it: SIGTERM, and patience."""
        process = self.processes.pop(name)
        del self.live[name]
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(STOP_SECONDS)

    def through_proxy(self, person: str = "ann") -> Client:
        assert self.proxy is not None
        return Client(self.proxy.url, self.keys[person])

    def health(self, name: str, *, limit: int = 60) -> int:
        """What docker/healthcheck says of a process: 0 for a healthy one."""
        told = {"COPILOT_ALIVE_FILE": str(self.home / f"{name}.alive"), "COPILOT_ALIVE_LIMIT": str(limit)}
        return subprocess.run(
            [HEALTHCHECK], env=os.environ | told, capture_output=True, check=False
        ).returncode


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=60).status_code == 200
    except httpx.HTTPError:
        return False


@contextmanager
def deployed(home: Path, **options: Any) -> Iterator[Deployment]:
    deployment = Deployment(home, **options)
    with running(deployment):
        yield deployment


@contextmanager
def running(deployment: Deployment, roles: Sequence[str] = ROLES) -> Iterator[None]:
    """The deployment at work behind a proxy."""
    try:
        deployment.deploy(roles)
        with proxy_of_this_run() as proxy:
            proxy.serve(deployment.web_ports)
            deployment.proxy = proxy
            eventually(lambda: answers(proxy.url), seconds=START_SECONDS, what="the proxy")
            yield
    finally:
        deployment.stop()
