"""The environment of a benchmark: its own home folder, Redis, database and model, and Django set up for them."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import django
import psycopg

from tests.harness import Stack, prepare, prepared_sqlite

# A benchmark asks how much fits, so the limits that keep one person from taking everything are lifted.
LIFTED = {
    "COPILOT_MAX_RUNNING_TURNS_PER_USER": "100000",
    "COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER": "100000",
    "COPILOT_MAX_WRITES_PER_MINUTE": "1000000",
    "LOG_LEVEL": "WARNING",
}
DATABASE = "BENCH_DATABASE_URL"  # on whose server a benchmark may make databases of its own


def leave_in_order() -> None:
    """Handle SIGTERM like Ctrl-C, so that no process is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextmanager
def environment(
    *, env: Mapping[str, str] | None = None, lease_seconds: float = 15.0, kind: type[Stack] = Stack
) -> Iterator[Stack]:
    """Run a stack with Redis only; the benchmark starts what else it needs."""
    leave_in_order()
    home = Path(tempfile.mkdtemp(prefix="rb-"))
    with own_database(os.environ.get(DATABASE, "")) as database_url:
        stack = kind(
            home, database_url=database_url, env={**LIFTED, **(env or {})}, lease_seconds=lease_seconds
        )
        try:
            stack.start_redis()
            if database_url:
                stack.keys = prepare(home, database_url, "")
            else:
                ready, stack.keys = prepared_sqlite()
                shutil.copytree(ready, home, dirs_exist_ok=True)
            os.environ.update(stack.environment())
            django.setup()
            yield stack
        finally:
            stack.stop()
            shutil.rmtree(home, ignore_errors=True)


@contextmanager
def own_database(server: str) -> Iterator[str]:
    """Yield the address of a new database on a PostgreSQL server, dropped afterwards; nothing without a server."""
    if not server:
        yield ""
        return
    address = urlsplit(server)
    name = f"ratchet_bench_{secrets.token_hex(4)}"
    maintenance = urlunsplit(address._replace(path="/postgres"))
    with psycopg.connect(maintenance, autocommit=True, connect_timeout=3) as connected:
        connected.execute(f'CREATE DATABASE "{name}"')
        try:
            yield urlunsplit(address._replace(path=f"/{name}"))
        finally:
            connected.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
