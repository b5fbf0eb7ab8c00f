"""docs/how-to/deploy.md can be followed: its tables are fresh, its variables exist, its commands run."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from django.urls import reverse

from copilot_project import deployment_page
from copilot_project.env import ROOT, Environment
from copilot_project.launcher.redis import find_server
from tests.harness import DIE_WITH_PARENT, eventually, free_port
from tests.needs import POSTGRES_URL, POSTGRESQL, RABBITMQ, require

TEXT = deployment_page.PAGE.read_text()
OUTSIDE = {
    "DJANGO_SUPERUSER_PASSWORD",
    "OLLAMA_HOST",
    "OLLAMA_CONTEXT_LENGTH",
    "COPILOT_ALIVE_LIMIT",
    "COPILOT_ALIVE_END",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "COMPOSE_PROFILES",
    "POSTGRES_PASSWORD",
    "YOUR",
    "HOST",
    "PROVIDER",
    "CHANGELOG",
}


def postgres_place() -> str:
    """Host and port of the server that the tests use."""
    place = urlsplit(POSTGRES_URL)
    return f"{place.hostname}:{place.port or 5432}"


def test_every_variable_the_guide_names_exists() -> None:
    known = {field.metadata["name"] for field in fields(Environment)} | OUTSIDE
    named = set(re.findall(r"`([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)[`=]", TEXT))
    assert named - known - {"COPILOT_WORKER_CONCURRENCY"} == set()
    assert set(deployment_page.MUST_CHANGE) | set(deployment_page.MAY_CHANGE) <= known


def test_the_roles_of_the_guide_are_those_of_the_entrypoint() -> None:
    script = (ROOT / "docker" / "entrypoint").read_text()
    roles = set(re.findall(r"^    ([a-z]+)\)", script, re.MULTILINE)) - {"help", "makekeys"}
    assert roles == set(deployment_page.ROLES)


def test_the_redirect_address_of_sign_ins_is_the_one_that_is_served() -> None:
    address = reverse("credential-oauth-callback", args=["PROVIDER"])
    assert f"https://YOUR-HOST{address}" in TEXT


def test_every_page_the_guide_points_to_exists() -> None:
    for target in re.findall(r"\]\(([a-z/.-]+\.md)\)", TEXT):
        assert (deployment_page.PAGE.parent / target).exists(), target


# --- followed -------------------------------------------------------------------------------------

WORKING_ROLES = ("web", "worker", "operations", "executions", "beat", "completions")


class Walk:
    """Somebody with an empty server who does what the guide says, word for word but for names and addresses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"ratchet_guide_{secrets.token_hex(4)}"
        self.port = free_port()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.undo = ExitStack()

    def block(self, kind: str, having: str) -> str:
        """The block of that kind that a test follows and that has these words."""
        found = re.findall(rf"<!-- followed by a test -->\n```{kind}\n(.*?)```", TEXT, re.DOTALL)
        [text] = [text for text in found if having in text]
        return str(text)

    def renamed(self, text: str) -> str:
        return re.sub(r"\bratchet\b(?!\.example)", self.name, text)

    def make_database(self) -> None:
        server = self.undo.enter_context(psycopg.connect(f"{POSTGRES_URL}/postgres", autocommit=True))
        for statement in self.renamed(self.block("sql", "CREATE ROLE")).strip().split(";\n"):
            server.execute(statement.rstrip(";"))
        self.undo.callback(server.execute, f"DROP ROLE {self.name}")
        self.undo.callback(server.execute, f"DROP DATABASE {self.name} WITH (FORCE)")

    def make_broker(self) -> None:
        subprocess.run(["sh", "-ec", self.renamed(self.block("sh", "rabbitmqctl"))], check=True, timeout=120)
        for word in ("delete_vhost", "delete_user"):
            self.undo.callback(subprocess.run, ["rabbitmqctl", word, self.name], check=False, timeout=60)

    def make_redis(self) -> None:
        config = self.folder / "redis.conf"
        socket = self.folder / "redis.sock"
        lines = self.block("", "appendonly")
        config.write_text(f"{lines}\nport 0\nunixsocket {socket}\ndir {self.folder}\n")
        self.processes.append(subprocess.Popen([find_server(), str(config)], stdout=subprocess.DEVNULL))
        eventually(socket.exists, what="Redis")

    def environment(self) -> dict[str, str]:
        """The file of the guide, with the keys it says how to make and the addresses of this machine."""
        [text] = re.findall(r"<!-- environment of the test -->\n```\n(.*?)```", TEXT, re.DOTALL)
        keys = subprocess.run(
            [str(ROOT / "docker" / "entrypoint"), "makekeys"],
            env=os.environ | {"PATH": self.path()},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        text = (
            re.sub(r"^(SECRET_KEY|ENCRYPTION_KEYS)=.*\n", "", self.renamed(text), flags=re.MULTILINE) + keys
        )
        text = (
            text.replace("db.internal:5432", postgres_place())
            .replace("db.internal", "127.0.0.1")
            .replace("rabbit.internal", "127.0.0.1")
        )
        told = dict(line.split("=", 1) for line in text.strip().splitlines())
        inherited = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
        return (
            inherited
            | told
            | {
                "PATH": self.path(),
                "COPILOT_HOME": str(self.folder / "home"),
                "REDIS_URL": f"unix://{self.folder}/redis.sock",
                "HOST": "127.0.0.1",
                "PORT": str(self.port),
                "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
                "DJANGO_SUPERUSER_PASSWORD": "a long enough password",
                "BACKUPS": str(self.folder),
            }
        )

    def path(self) -> str:
        return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run(self, script: str, environment: dict[str, str]) -> str:
        script = "set -e\n" + script.replace("./copilot ", f"{sys.executable} manage.py ")
        result = subprocess.run(
            ["bash", "-c", script],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=380,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def start_services(self, environment: dict[str, str]) -> None:
        """What systemd would start for each role."""
        unit = self.block("ini", "[Service]").replace("/opt/ratchet", str(ROOT))
        start = re.search(r"^ExecStart=(.+)$", unit, re.MULTILINE)
        assert start is not None
        for role in WORKING_ROLES:
            with (self.folder / f"{role}.log").open("wb") as log:
                command = [
                    sys.executable,
                    str(DIE_WITH_PARENT),
                    str(os.getpid()),
                    *start[1].replace("%i", role).split(),
                ]
                self.processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))

    def stop_services(self) -> None:
        for process in self.processes[1:]:
            process.terminate()
        for process in self.processes[1:]:
            process.wait(60)

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait(60)
        self.undo.close()


@pytest.fixture
def walk() -> Iterator[Walk]:
    require(POSTGRESQL, RABBITMQ)
    with tempfile.TemporaryDirectory(prefix="rg-") as folder:
        walk = Walk(Path(folder))
        try:
            yield walk
        finally:
            walk.end()


def broken(said: str) -> set[str]:
    return {row["name"] for row in json.loads(said) if row["needed"] and not row["ok"]}


@pytest.mark.services
@pytest.mark.timeout(900)
def test_the_guide_leads_from_an_empty_server_to_a_site_that_runs(walk: Walk) -> None:
    walk.make_database()
    walk.make_broker()
    walk.make_redis()
    environment = walk.environment()

    said = walk.run(walk.block("sh", "createsuperuser"), environment)
    assert broken(said[said.index("[\n") :]) == {"workers", "queues", "beat", "model"}

    walk.start_services(environment)

    def doctor() -> set[str]:
        return broken(walk.run("./copilot doctor --json || true", environment))

    eventually(lambda: doctor() == {"model"}, seconds=240, what="a site without a complaint but of its model")
    page = httpx.get(f"http://127.0.0.1:{walk.port}/readyz", headers={"Host": "ratchet.example.com"})
    assert page.status_code == 200, page.text

    assert "database.pgdump" in walk.run(walk.block("sh", "copilot backup"), environment)
    walk.stop_services()
    assert "Restored the backup" in walk.run(walk.block("sh", "copilot restore"), environment)
    assert "event pages" in walk.run(walk.block("sh", "copilot retention"), environment)
