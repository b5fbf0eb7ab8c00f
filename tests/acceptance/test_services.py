"""The same product on PostgreSQL and RabbitMQ: only URLs change."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.rig import Reader, Stack, eventually, running_stack

pytestmark = pytest.mark.services
POSTGRES = os.environ.get("TEST_POSTGRES_URL", "postgres://127.0.0.1:5432")
RABBIT = os.environ.get("TEST_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672")


def missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"{what} is needed for this test.")
    pytest.skip(f"{what} is not running here.")


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A PostgreSQL database of the test's own."""
    name = f"ratchet_rig_{secrets.token_hex(4)}"
    try:
        server = psycopg.connect(f"{POSTGRES}/postgres", autocommit=True, connect_timeout=3)
    except psycopg.OperationalError:
        missing("PostgreSQL")
    with server:
        server.execute(f'CREATE DATABASE "{name}"')
        yield f"{POSTGRES}/{name}"
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """A RabbitMQ virtual host of the test's own."""
    control = shutil.which("rabbitmqctl") or "/usr/sbin/rabbitmqctl"
    host = f"ratchet-rig-{secrets.token_hex(4)}"
    try:
        subprocess.run([control, "add_vhost", host], check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        missing("RabbitMQ")
    everything = [control, "set_permissions", "-p", host, "guest", ".*", ".*", ".*"]
    subprocess.run(everything, check=True, capture_output=True, timeout=60)
    yield f"{RABBIT}/{quote(host, safe='')}"
    subprocess.run([control, "delete_vhost", host], check=False, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def stack(short_tmp: Path, database: str, broker: str) -> Iterator[Stack]:
    with running_stack(
        short_tmp / "services", workers=2, webs=2, database_url=database, broker_url=broker
    ) as running:
        yield running


def test_turn_with_tools_is_answered_through_postgresql_and_rabbitmq(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    call = {"name": "test_effect", "arguments": {"note": "x"}}
    turn = client.send(session, {"steps": [{"text": "One. ", "tool_calls": [call]}, {"text": "Two."}]})
    reader = Reader(stack.client(web=1), turn["id"]).read_to_end()
    assert client.wait(turn["id"])["end_reason"] == "done"
    assert reader.text == client.answer(session)["content"] == "One. Two."


def test_killed_worker_is_taken_over_on_postgresql_and_rabbitmq(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    turn = client.send(session, {"id": "pg-kill", "steps": [{"chunks": 100, "delay": 0.05}]})
    eventually(lambda: client.turn(turn["id"])["status"] == "running")
    for name in ("worker0", "worker1"):
        stack.kill(name)
    stack.start_worker(2)
    ended = client.wait(turn["id"])
    assert (ended["end_reason"], ended["attempt"]) == ("done", 2)
    assert Reader(client, turn["id"]).read_to_end().text == client.answer(session)["content"]


def test_cancel_and_two_users_on_postgresql_and_rabbitmq(stack: Stack) -> None:
    ann, bob = stack.client("ann"), stack.client("bob", web=1)
    running = ann.send(ann.new_session(), {"id": "pg-cancel", "steps": [{"chunks": 2000, "delay": 0.05}]})
    eventually(lambda: ann.turn(running["id"])["status"] == "running")
    assert bob.http.post(f"/api/turns/{running['id']}/cancel").status_code == 404
    quick = bob.send(bob.new_session(), {"steps": [{"text": "quick"}]})
    assert bob.wait(quick["id"])["end_reason"] == "done"
    assert ann.http.post(f"/api/turns/{running['id']}/cancel").json()["cancelled"] is True
