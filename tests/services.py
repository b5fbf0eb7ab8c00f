"""Real servers of the machine for tests that need them: a PostgreSQL database and a RabbitMQ host of a test's own."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import psycopg
import pytest

from tests.needs import POSTGRES_URL, POSTGRESQL, RABBITMQ, RABBITMQ_URL, rabbitmq_control, require


class ServerMissing(Exception):
    """The program of a server that this run starts by itself is not installed."""


@contextmanager
def new_database(template: str = "template1") -> Iterator[str]:
    """A PostgreSQL database of one's own, a copy of `template`."""
    require(POSTGRESQL)
    name = f"ratchet_rig_{secrets.token_hex(4)}"
    with psycopg.connect(f"{POSTGRES_URL}/postgres", autocommit=True, connect_timeout=3) as server:
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        yield f"{POSTGRES_URL}/{name}"
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def new_broker() -> Iterator[str]:
    """A RabbitMQ virtual host of one's own."""
    require(RABBITMQ)
    control = rabbitmq_control()
    host = f"ratchet-rig-{secrets.token_hex(4)}"
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
def broker() -> Iterator[str]:
    with new_broker() as url:
        yield url
