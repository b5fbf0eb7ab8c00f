"""Real servers of the machine for tests that need them: a PostgreSQL database and a RabbitMQ host of a test's own."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import secrets
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.harness import SHARED, prepare
from tests.needs import POSTGRES_URL, POSTGRESQL, RABBITMQ, RABBITMQ_URL, rabbitmq_control, require

TEMPLATE = "ratchet_template"
made = ExitStack()  # what this process makes once
atexit.register(made.close)


class ServerMissing(Exception):
    """The program of a server that this run starts by itself is not installed."""


@contextmanager
def new_database(template: str = "template1") -> Iterator[str]:
    """A PostgreSQL database of one's own, a copy of `template`."""
    require(POSTGRESQL)
    name = f"ratchet_test_{secrets.token_hex(4)}"
    with psycopg.connect(f"{POSTGRES_URL}/postgres", autocommit=True, connect_timeout=60) as server:
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        yield f"{POSTGRES_URL}/{name}"
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def prepared_database() -> Iterator[tuple[str, dict[str, str]]]:
    """A PostgreSQL database of one's own with all tables and three people; and their API keys."""
    template, keys = prepared_template()
    with new_database(template) as url:
        yield url, keys


@cache
def prepared_template() -> tuple[str, dict[str, str]]:
    """Its name and the API keys. Making the tables takes many times as long as copying them.

    The processes of a run share one, where it goes with the run's own server.
    """
    shared = os.environ.get(SHARED, "")
    if not shared or not os.environ.get("TEST_OWN_POSTGRES"):
        url = made.enter_context(new_database())
        return url.rpartition("/")[2], with_tables(url)
    known = Path(shared) / "postgresql.json"
    with (Path(shared) / "postgresql.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not known.exists():
            require(POSTGRESQL)
            with psycopg.connect(f"{POSTGRES_URL}/postgres", autocommit=True, connect_timeout=60) as server:
                server.execute(f"DROP DATABASE IF EXISTS {TEMPLATE}")  # of a process that died over it
                server.execute(f"CREATE DATABASE {TEMPLATE}")
            known.write_text(json.dumps(with_tables(f"{POSTGRES_URL}/{TEMPLATE}")))
    return TEMPLATE, json.loads(known.read_text())


def with_tables(url: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="ratchet-template-") as home:
        return prepare(Path(home), url, "")


@contextmanager
def new_broker() -> Iterator[str]:
    """A RabbitMQ virtual host of one's own."""
    require(RABBITMQ)
    control = rabbitmq_control()
    host = f"ratchet-test-{secrets.token_hex(4)}"
    subprocess.run([control, "add_vhost", host], check=True, capture_output=True, timeout=60)
    everything = [control, "set_permissions", "-p", host, "guest", ".*", ".*", ".*"]
    subprocess.run(everything, check=True, capture_output=True, timeout=60)
    try:
        yield f"{RABBITMQ_URL}/{quote(host, safe='')}"
    finally:
        subprocess.run([control, "delete_vhost", host], check=False, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with new_database() as url:
        yield url


@pytest.fixture(scope="module")
def prepared() -> Iterator[tuple[str, dict[str, str]]]:
    with prepared_database() as found:
        yield found


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with new_broker() as url:
        yield url
