"""What every test stands on: an embedded Redis of its own, never the machine's."""

from __future__ import annotations

import atexit
import faulthandler
import fcntl
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.environment import TEST_HOME

START_SECONDS = 180.0  # generous: a loaded machine is slow, not broken


@pytest.fixture(scope="session")
def redis_server() -> subprocess.Popen[bytes]:
    """One real Redis for the whole run."""
    from copilot_project.launcher.redis import is_up
    from tests.redis_server import start_server

    socket = TEST_HOME / "redis" / "redis.sock"
    server = start_server(TEST_HOME / "redis", socket)
    atexit.register(server.kill)
    atexit.register(logging.disable)  # nobody is left to read what a background thread says about that
    deadline = time.monotonic() + START_SECONDS
    while not is_up(socket, timeout=START_SECONDS):
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("The embedded Redis did not start.")
        time.sleep(0.01)
    return server


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker) -> bool:
    """Whether there is a database with all tables already: of the processes of a run one makes them for all.

    Migrations take more than ten processor seconds; copying the SQLite file takes none.
    """
    from django.db import connection

    shared = os.environ.get("TEST_SHARED")
    if not shared or connection.vendor != "sqlite":
        return False
    template = Path(shared) / "tables.sqlite3"
    with (Path(shared) / "tables.lock").open("w") as lock, django_db_blocker.unblock():
        fcntl.flock(lock, fcntl.LOCK_EX)
        own = Path(connection.settings_dict["TEST"]["NAME"])
        if template.exists():
            copy_database(template, own)
        else:
            connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
            connection.close()
            copy_database(own, template.with_suffix(".new"))
            template.with_suffix(".new").rename(template)
    return True


def copy_database(source: Path, target: Path) -> None:
    """With what is still in its write-ahead log."""
    with closing(sqlite3.connect(source)) as whole, closing(sqlite3.connect(target)) as copy:
        whole.backup(copy)


@pytest.fixture(scope="module")
def short_tmp() -> Iterator[Path]:
    """A folder with a short path: unix sockets have little room for theirs."""
    path = Path(tempfile.mkdtemp(prefix="rt-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def frozen_process_ends() -> Iterator[None]:
    """End the test run, with a traceback, when the test holds the interpreter for good.

    A regular expression that never ends runs neither signal handlers nor other threads, so no timeout of pytest
    can stop it; this watchdog needs no interpreter.
    """
    faulthandler.dump_traceback_later(120, exit=True, file=2)  # standard error, past pytest's capture
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def no_memory_of_the_broker() -> None:
    """What one test learnt of its broker (that it is away, that a queue is full) is not true for the next."""
    publisher = sys.modules.get("durable.publisher")
    if publisher is not None:
        publisher.senders._forget()
