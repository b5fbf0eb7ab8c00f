"""Real servers of the machine for tests that need them: a PostgreSQL database and a RabbitMQ host of a test's own."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import psycopg
import pytest

POSTGRES = os.environ.get("TEST_POSTGRES_URL", "postgres://127.0.0.1:5432")
RABBIT = os.environ.get("TEST_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672")


class ServerMissing(Exception):
    """The program of a server that this run starts by itself is not installed."""


def missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"{what} is needed for this test.")
    pytest.skip(f"{what} is not running here.")


@contextmanager
def new_database(template: str = "template1") -> Iterator[str]:
    """A PostgreSQL database of one's own, a copy of `template`."""
    name = f"ratchet_rig_{secrets.token_hex(4)}"
    try:
        server = psycopg.connect(f"{POSTGRES}/postgres", autocommit=True, connect_timeout=3)
    except psycopg.OperationalError:
        missing("PostgreSQL")
    with server:
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        yield f"{POSTGRES}/{name}"
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def new_broker() -> Iterator[str]:
    """A RabbitMQ virtual host of one's own."""
    control = shutil.which("rabbitmqctl") or "/usr/sbin/rabbitmqctl"
    host = f"ratchet-rig-{secrets.token_hex(4)}"
    try:
        subprocess.run([control, "add_vhost", host], check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        missing("RabbitMQ")
    everything = [control, "set_permissions", "-p", host, "guest", ".*", ".*", ".*"]
    subprocess.run(everything, check=True, capture_output=True, timeout=60)
    try:
        yield f"{RABBIT}/{quote(host, safe='')}"
    finally:
        subprocess.run([control, "delete_vhost", host], check=False, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with new_database() as url:
        yield url


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with new_broker() as url:
        yield url
