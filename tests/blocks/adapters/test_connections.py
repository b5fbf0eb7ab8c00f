"""Whichever port a block waits at, no database connection waits with it: a new port needs a case here."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections
from pytest_django import Settings

from accounts.models import User
from blocks.adapters.databases import OutsideDatabases
from blocks.adapters.live import GuardedWeb, LocalSandbox, SystemClock
from blocks.adapters.mail import SmtpMail
from blocks.adapters.model import PlatformModel
from blocks.adapters.search import EndpointSearch
from blocks.adapters.transcripts import YouTubeCaptions
from blocks.ports import DatabaseQuery, Mail, PortError, Ports
from boundary.errors import FetchError
from boundary.http import OutboundRequest, OutboundResponse
from boundary.sandbox import SandboxRequest
from durable.stop_signal import StopSignal
from llm.errors import LLMError
from llm.types import Request

pytestmark = pytest.mark.django_db(transaction=True)
SECONDS = 20.0
ROWS_ONLY = {
    "agents": "waits by durable.wait, which gives the connection back",
    "credentials": "renews a sign-in by boundary.http",
    "files": "waits for a bucket in workspace.blobs, which gives the connection back",
    "random": "waits for nothing",
    "reviews": "parks instead of waiting",
    "store": "gives the connection back after each use",
    "tools": "waits for its driver without a connection",
    "turns": "waits by durable.wait, which gives the connection back",
}


def wait_at_http(port: int, cancel: StopSignal) -> None:
    GuardedWeb().fetch(OutboundRequest(url=f"http://127.0.0.1:{port}/"))


def wait_at_search(port: int, cancel: StopSignal) -> None:
    EndpointSearch(f"http://127.0.0.1:{port}/?q={{query}}", GuardedWeb()).search("words")


class Rerouted:
    """The web, all of which is at one port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    def fetch(self, request: OutboundRequest) -> OutboundResponse:
        return GuardedWeb().fetch(replace(request, url=f"http://127.0.0.1:{self.port}/"))


def wait_at_transcripts(port: int, cancel: StopSignal) -> None:
    YouTubeCaptions(Rerouted(port)).transcript("dQw4w9WgXcQ")


def wait_at_model(port: int, cancel: StopSignal) -> None:
    PlatformModel().complete(Request(model="m", messages=[{"role": "user", "content": "Hi"}]), cancel)


def wait_at_mail(port: int, cancel: StopSignal) -> None:
    addresses = {"sender": "me@example.com", "to": "ada@example.com", "username": "me", "password": "secret"}
    SmtpMail().send(Mail(subject="Hi", body="Hi", server="127.0.0.1", port=port, key="k", **addresses))


def wait_at_database(port: int, cancel: StopSignal) -> None:
    query = DatabaseQuery(
        kind="postgres",
        host="127.0.0.1",
        port=port,
        database="d",
        username="u",
        password="p",
        query="SELECT 1",
        read_only=True,
        timeout_seconds=SECONDS,
        max_rows=1,
    )
    OutsideDatabases().run(query, cancel)


SILENT_SERVER: dict[str, Callable[[int, StopSignal], None]] = {
    "database": wait_at_database,
    "http": wait_at_http,
    "mail": wait_at_mail,
    "model": wait_at_model,
    "search": wait_at_search,
    "transcripts": wait_at_transcripts,
}
OWN_CLOCK = {"clock", "sandbox"}


@pytest.fixture
def listener(settings: Settings) -> Iterator[socket.socket]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(SECONDS)
        port = listening.getsockname()[1]
        settings.BOUNDARY_ALLOWED_HOSTS = [f"127.0.0.1:{port}"]
        settings.OPENAI_BASE_URL = f"http://127.0.0.1:{port}/v1"
        settings.OPENAI_API_KEY = "k"
        settings.COPILOT_MODEL = "m"
        yield listening


def test_every_port_is_either_shown_to_let_go_or_said_to_reach_nothing_outside() -> None:
    named = {field.name for field in fields(Ports)}
    assert named == SILENT_SERVER.keys() | OWN_CLOCK | ROWS_ONLY.keys()


@pytest.mark.parametrize("name", sorted(SILENT_SERVER))
def test_no_connection_is_held_while_a_server_is_silent(name: str, listener: socket.socket) -> None:
    held: list[Any] = []
    cancel = StopSignal()

    def work() -> None:
        User.objects.count()
        held.append(connections["default"])
        assert held[0].connection is not None
        try:
            SILENT_SERVER[name](listener.getsockname()[1], cancel)
        except (PortError, FetchError, LLMError):
            pass  # nobody answered
        finally:
            connections.close_all()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    server, _ = listener.accept()
    assert held[0].connection is None
    listener.close()
    cancel.set()
    server.close()
    thread.join(SECONDS)
    assert not thread.is_alive()


class Looking(StopSignal):
    """A cancel signal that looks for a connection whenever it is asked; who waits for it is woken at once."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[bool] = []

    def is_set(self) -> bool:
        self.held.append(connection.connection is not None)
        return False

    def add_callback(self, fn: Callable[[], None]) -> Callable[[], None]:
        self.is_set()
        fn()
        return lambda: None


def test_no_connection_is_held_while_the_clock_runs() -> None:
    User.objects.count()
    looking = Looking()
    SystemClock().wait_until(datetime.now(UTC) + timedelta(hours=1), looking)
    assert looking.held == [False]


@pytest.mark.usefixtures("sandbox")
def test_no_connection_is_held_while_the_sandbox_works() -> None:
    User.objects.count()
    looking = Looking()
    LocalSandbox().run(SandboxRequest(command="sleep 0.3"), looking)
    assert looking.held and not any(looking.held)
