"""Connections to SQLite are used again, and only when nothing of their last use can be seen."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, NotSupportedError, transaction

from durable import limits
from durable.sqlite.base import ConnectionPool, DatabaseWrapper

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.sqlite3"


@pytest.fixture(autouse=True)
def spares(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectionPool]:
    """The test's own, so that nothing else of this process comes between."""
    own = ConnectionPool()
    monkeypatch.setattr("durable.sqlite.base.spares", own)
    yield own
    own.close_all()


def open_database(path: Path) -> DatabaseWrapper:
    settings: dict[str, Any] = {
        "ENGINE": "durable.sqlite",
        "NAME": str(path),
        "OPTIONS": {"transaction_mode": "IMMEDIATE"},
        "AUTOCOMMIT": True,
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": False,
        "TIME_ZONE": None,
        "ATOMIC_REQUESTS": False,
        "TEST": {},
    }
    database = DatabaseWrapper(settings, alias="other")
    database.ensure_connection()
    return database


def handle_of(database: DatabaseWrapper) -> sqlite3.Connection:
    database.ensure_connection()
    assert database.connection is not None
    found: sqlite3.Connection = database.connection
    return found


def run(database: DatabaseWrapper, statement: str) -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def test_a_closed_connection_serves_the_next_thread(path: Path) -> None:
    first = open_database(path)
    handle = handle_of(first)
    first.close()
    seen = []

    def elsewhere() -> None:
        second = open_database(path)
        seen.append(handle_of(second))
        run(second, "CREATE TABLE t (n)")
        second.close()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [handle]
    assert run(first, "SELECT count(*) FROM t") == [(0,)]


def test_two_at_the_same_time_have_one_each(path: Path) -> None:
    first, second = open_database(path), open_database(path)
    assert handle_of(first) is not handle_of(second)


def test_a_connection_closed_in_a_transaction_is_not_used_again(path: Path) -> None:
    database = open_database(path)
    run(database, "CREATE TABLE t (n)")
    handle = handle_of(database)
    handle.execute("BEGIN IMMEDIATE")
    handle.execute("INSERT INTO t VALUES (1)")
    database.close()
    fresh = open_database(path)
    assert handle_of(fresh) is not handle
    assert run(fresh, "SELECT * FROM t") == [], "what was not committed is gone"


def test_a_connection_that_had_an_error_is_not_used_again(path: Path) -> None:
    database = open_database(path)
    handle = handle_of(database)
    with pytest.raises(DatabaseError):
        run(database, "SELECT * FROM nothing")
    database.close()
    assert handle_of(open_database(path)) is not handle


def test_another_file_at_the_same_path_gets_a_connection_of_its_own(path: Path) -> None:
    database = open_database(path)
    run(database, "CREATE TABLE old (n)")
    database.close()
    other = path.with_name("other.sqlite3")
    sqlite3.connect(other).close()
    other.touch()
    other.replace(path)
    assert run(open_database(path), "SELECT name FROM sqlite_master") == []


def test_a_file_that_is_gone_is_let_go(path: Path) -> None:
    database = open_database(path)
    handle = handle_of(database)
    path.unlink()
    database.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        handle.execute("SELECT 1")


def test_only_so_many_are_kept(path: Path) -> None:
    several = [open_database(path) for _ in range(limits.MAX_SPARE_CONNECTIONS + 2)]
    handles = [handle_of(database) for database in several]
    for database in several:
        database.close()
    still_open = sum(is_open(handle) for handle in handles)
    assert still_open == limits.MAX_SPARE_CONNECTIONS


def is_open(handle: sqlite3.Connection) -> bool:
    try:
        handle.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


def test_a_forked_child_opens_the_same_database_for_itself(path: Path) -> None:
    database = open_database(path)
    run(database, "PRAGMA journal_mode=WAL")
    run(database, "CREATE TABLE t (n)")
    handle = handle_of(database)
    database.close()
    child = os.fork()
    if not child:
        os._exit(write_in_child(path))
    assert os.waitpid(child, 0)[1] == 0
    assert not is_open(handle), "closed before the fork"
    assert run(database, "SELECT n FROM t") == [(1,)]


def write_in_child(path: Path) -> int:
    try:
        own = open_database(path)
        run(own, "INSERT INTO t VALUES (1)")
        own.close()
    except DatabaseError:
        return 1
    return 0


def test_a_transaction_that_fails_leaves_nothing_behind() -> None:
    from accounts.models import User

    with pytest.raises(RuntimeError), transaction.atomic():
        User.objects.create(username="half")
        raise RuntimeError
    transaction.get_connection().close()
    assert not User.objects.filter(username="half").exists()


def test_an_sqlite_without_returning_is_refused_by_its_version(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_database(path)
    monkeypatch.setattr(DatabaseWrapper, "get_database_version", lambda self: (3, 34, 1))
    with pytest.raises(NotSupportedError, match=r"SQLite 3\.35 or later is required"):
        database.check_database_version_supported()  # once per process, at the first connection
