"""A PostgreSQL of its own for the tests that need one."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from tests.blocks.adapters.certificates import make_certificate
from tests.needs import BUBBLEWRAP, POSTGRESQL_PROGRAMS, postgresql_programs, require

PASSWORD = "pg-canary-password"


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A running server that takes a password on the loopback."""

    port: int
    ca_certificate: str
    user: str = "owner"
    password: str = PASSWORD


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """Started once."""
    require(POSTGRESQL_PROGRAMS)
    programs = postgresql_programs()
    assert programs is not None
    initdb, server = str(programs / "initdb"), str(programs / "postgres")
    folder = Path(mkdtemp(prefix="ratchet-pg-"))
    runner = as_ordinary_user(folder)
    (folder / "password").write_text(PASSWORD)
    (folder / "password").chmod(0o644)
    data = folder / "data"
    certificate = make_certificate("db.example.com", "127.0.0.1")
    cluster = Cluster(port=free_port(), ca_certificate=certificate.text)
    subprocess.run(
        [
            *runner,
            initdb,
            "-D",
            str(data),
            "-U",
            cluster.user,
            "-A",
            "scram-sha-256",
            "--pwfile",
            f"{folder}/password",
        ],
        check=True,
        capture_output=True,
    )
    for name, text in (("server.crt", certificate.text), ("server.key", certificate.key)):
        path = data / name
        path.write_text(text)
        path.chmod(0o600)
        shutil.chown(path, *owner_of(data))
    with (data / "postgresql.conf").open("a") as configuration:
        configuration.write("ssl = on\n")
    arguments = ["-D", str(data), "-p", str(cluster.port), "-h", "127.0.0.1", "-k", str(folder), "-F"]
    with subprocess.Popen([*runner, server, *arguments], stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(cluster.port)
            yield cluster
        finally:
            process.terminate()
            process.wait(timeout=30)
            shutil.rmtree(folder, ignore_errors=True)


def as_ordinary_user(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "--"]


def owner_of(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_uid, facts.st_gid


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_for(port: int) -> None:
    import psycopg

    deadline = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(
                host="127.0.0.1", port=port, user="owner", password=PASSWORD, dbname="postgres"
            ).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


@pytest.fixture
def sandbox(settings: Any) -> None:
    settings.SANDBOX = "auto"
    require(BUBBLEWRAP)
