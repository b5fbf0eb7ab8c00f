"""Queries against a real PostgreSQL and real SQLite files."""

from __future__ import annotations

import base64
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from blocks.adapters.databases import OutsideDatabases
from blocks.adapters.network import NetworkAccess
from blocks.errors import BlockFailed
from blocks.ports import DatabaseQuery, PortError
from blocks.support.statements import check_statement
from boundary.errors import ParserError
from boundary.policy import AllowList, NetworkPolicy
from durable.stop_signal import StopSignal
from tests.blocks.adapters.conftest import Cluster

NEVER = StopSignal()


def allowed(cluster: Cluster) -> OutsideDatabases:
    return OutsideDatabases(
        NetworkAccess(policy=NetworkPolicy(allowed=AllowList.of([f"127.0.0.1:{cluster.port}"])))
    )


def pg_query(cluster: Cluster, query: str, **changes: Any) -> DatabaseQuery:
    facts: dict[str, Any] = {
        "kind": "postgres",
        "host": "127.0.0.1",
        "port": cluster.port,
        "database": "postgres",
        "username": cluster.user,
        "password": cluster.password,
        "ca_certificate": cluster.ca_certificate,
        "query": query,
        "read_only": True,
        "timeout_seconds": 10.0,
        "max_rows": 100,
    }
    return DatabaseQuery(**(facts | changes))


def sqlite_query(content: bytes, query: str, **changes: Any) -> DatabaseQuery:
    facts: dict[str, Any] = {
        "kind": "sqlite",
        "content": content,
        "query": query,
        "read_only": True,
        "timeout_seconds": 5.0,
        "max_rows": 100,
    }
    return DatabaseQuery(**(facts | changes))


@pytest.fixture
def shop(tmp_path: Path) -> bytes:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE items (id INTEGER, name TEXT, data BLOB, price REAL)")
        connection.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?)", [(1, "é", b"\0\1", 2.5), (2, None, None, float("inf"))]
        )
    return path.read_bytes()


# --- PostgreSQL ---------------------------------------------------------------------------------


def test_rows_come_back_as_json(postgres: Cluster) -> None:
    query = (
        "SELECT 1 AS a, 'x'::text AS b, now() IS NOT NULL AS c, 1.50::numeric AS d, DATE '2025-06-15' AS e, "
        "'\\x00ff'::bytea AS f, ARRAY[1,2] AS g, '{\"k\": null}'::jsonb AS h, 'NaN'::float AS i, 2 AS a"
    )
    answer = allowed(postgres).run(pg_query(postgres, query), NEVER)
    assert answer.columns == ("a", "b", "c", "d", "e", "f", "g", "h", "i", "a_2")
    assert answer.rows == (
        {
            "a": 1,
            "b": "x",
            "c": True,
            "d": "1.50",
            "e": "2025-06-15",
            "f": base64.b64encode(b"\0\xff").decode(),
            "g": [1, 2],
            "h": {"k": None},
            "i": "nan",
            "a_2": 2,
        },
    )
    assert answer.affected_rows is None


def test_a_large_result_is_cut_without_being_read_whole(postgres: Cluster) -> None:
    answer = allowed(postgres).run(
        pg_query(postgres, "SELECT generate_series(1, 100000000)", max_rows=10), NEVER
    )
    assert (len(answer.rows), answer.truncated) == (10, True)


def test_an_empty_result_still_names_its_columns(postgres: Cluster) -> None:
    answer = allowed(postgres).run(pg_query(postgres, "SELECT 1 AS a WHERE false"), NEVER)
    assert (answer.columns, answer.rows, answer.truncated) == (("a",), (), False)


def test_reading_only_is_held_by_the_database_itself(postgres: Cluster) -> None:
    database = allowed(postgres)
    with pytest.raises(PortError, match="The database returned an error"):
        database.run(pg_query(postgres, "CREATE TABLE nope (id int)"), NEVER)
    database.run(pg_query(postgres, "CREATE SEQUENCE numbers", read_only=False), NEVER)
    with pytest.raises(PortError, match="read-only transaction"):
        database.run(pg_query(postgres, "SELECT nextval('numbers')"), NEVER)


@pytest.mark.parametrize(
    "query",
    [
        "SHOW server_version",
        "EXPLAIN SELECT 1",
        "VALUES (1)",
        "(SELECT 1);",
        "TABLE pg_class",
        "/* hm */ SELECT 1 -- x",
    ],
)
def test_every_kind_of_reading_statement_works(postgres: Cluster, query: str) -> None:
    answer = allowed(postgres).run(pg_query(postgres, query), NEVER)
    assert answer.rows
    assert answer.affected_rows is None


def test_a_write_hidden_in_a_common_table_expression_is_refused(postgres: Cluster) -> None:
    with pytest.raises(PortError, match="The database returned an error"):
        allowed(postgres).run(
            pg_query(postgres, "WITH x AS (DELETE FROM pg_class RETURNING 1) SELECT * FROM x"), NEVER
        )


def test_a_write_is_committed_and_counted(postgres: Cluster) -> None:
    database = allowed(postgres)
    database.run(pg_query(postgres, "CREATE TABLE kept (id int)", read_only=False), NEVER)
    written = database.run(
        pg_query(postgres, "INSERT INTO kept VALUES (1), (2) RETURNING id", read_only=False), NEVER
    )
    assert (written.affected_rows, written.rows) == (2, ({"id": 1}, {"id": 2}))
    assert database.run(pg_query(postgres, "SELECT count(*) AS n FROM kept"), NEVER).rows == ({"n": 2},)


def test_a_slow_query_is_stopped(postgres: Cluster) -> None:
    with pytest.raises(PortError, match="statement timeout"):
        allowed(postgres).run(pg_query(postgres, "SELECT pg_sleep(60)", timeout_seconds=0.2), NEVER)


def test_a_cancel_stops_the_query(postgres: Cluster) -> None:
    flag = StopSignal()
    timer = threading.Timer(0.3, flag.set)
    timer.start()
    with pytest.raises(PortError, match="canceling statement"):
        allowed(postgres).run(pg_query(postgres, "SELECT pg_sleep(60)", timeout_seconds=60.0), flag)
    timer.join()


def test_secrets_are_masked_in_what_the_database_says(postgres: Cluster) -> None:
    with pytest.raises(PortError) as caught:
        allowed(postgres).run(pg_query(postgres, "SELECT 1", password="wrong-canary"), NEVER)
    for secret in ("wrong-canary", "127.0.0.1", '"owner"'):
        assert secret not in str(caught.value)
    assert "[hidden]" in str(caught.value)
    assert "wrong-canary" not in repr(pg_query(postgres, "SELECT 1", password="wrong-canary"))


def test_a_private_host_is_refused_before_any_packet(postgres: Cluster) -> None:
    with pytest.raises(PortError, match="cannot be used"):
        OutsideDatabases(NetworkAccess(policy=NetworkPolicy())).run(pg_query(postgres, "SELECT 1"), NEVER)


@pytest.mark.parametrize("kind", ["mysql", "mssql"])
def test_a_database_without_a_driver_is_told(kind: str) -> None:
    with pytest.raises(PortError, match=f"{kind} is not supported"):
        OutsideDatabases().run(sqlite_query(b"", "SELECT 1", kind=kind), NEVER)


# --- SQLite -------------------------------------------------------------------------------------


def test_a_sqlite_file_is_read(shop: bytes) -> None:
    answer = OutsideDatabases().run(sqlite_query(shop, "SELECT *, id FROM items"), NEVER)
    assert answer.columns == ("id", "name", "data", "price", "id_2")
    assert answer.rows == (
        {"id": 1, "name": "é", "data": "AAE=", "price": 2.5, "id_2": 1},
        {"id": 2, "name": None, "data": None, "price": "inf", "id_2": 2},
    )


def test_a_common_table_expression_reads_too(shop: bytes) -> None:
    query = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT sum(x) AS s FROM n"
    assert OutsideDatabases().run(sqlite_query(shop, query), NEVER).rows == ({"s": 15},)


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM items",
        "ATTACH '/etc/passwd' AS x",
        "PRAGMA table_info(items)",
        "SELECT load_extension('/tmp/x.so')",
        "VACUUM INTO '/tmp/copy.db'",
        "CREATE TEMP TABLE x (a)",
        "SELECT * FROM nothing",
        "SELECT 1; SELECT 2",
        "nonsense",
    ],
)
def test_a_statement_that_does_more_than_read_is_refused(shop: bytes, query: str) -> None:
    with pytest.raises(PortError, match="The database returned an error"):
        OutsideDatabases().run(sqlite_query(shop, query), NEVER)


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n ORDER BY -x",
        "SELECT zeroblob(2000000000)",
        "SELECT length(group_concat(hex(zeroblob(9000000)))) FROM (SELECT 1 UNION SELECT 2 UNION SELECT 3)",
    ],
)
def test_an_endless_or_exploding_query_is_stopped(shop: bytes, query: str) -> None:
    with pytest.raises(PortError):
        OutsideDatabases().run(sqlite_query(shop, query, timeout_seconds=1.0), NEVER)


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_told(content: bytes) -> None:
    with pytest.raises(PortError):
        OutsideDatabases().run(sqlite_query(content, "SELECT * FROM items"), NEVER)


def test_rows_beyond_the_limit_are_cut(shop: bytes) -> None:
    answer = OutsideDatabases().run(sqlite_query(shop, "SELECT id FROM items", max_rows=1), NEVER)
    assert (answer.rows, answer.truncated) == (({"id": 1},), True)


# --- statements ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    ["SELECT 1", " -- note\nselect 1;", "WITH a AS (SELECT 1) SELECT * FROM a;\n", "(SELECT 1)", "EXPLAIN SELECT 1",
     "SHOW x", "( ( select 1 ) )", "SELECT ';' AS semicolon", "/* a; b */ SELECT 1"],
)  # fmt: skip
def test_one_reading_statement_passes(query: str) -> None:
    check_statement(query, read_only=True)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "empty"),
        (";", "exactly one"),
        ("-- only a note", "exactly one"),
        ("SELECT 1; SELECT 2", "exactly one"),
        ("INSERT INTO a VALUES (1)", "`read_only` is on"),
        ("UPDATE a SET b = 1", "`read_only` is on"),
        ("COPY a TO PROGRAM 'sh'", "`read_only` is on"),
        ("SET ROLE admin", "`read_only` is on"),
        ("BEGIN", "`read_only` is on"),
        ("x" * 200_000, "longer than"),
    ],
)
def test_what_is_not_one_reading_statement_is_refused(query: str, sentence: str) -> None:
    with pytest.raises(BlockFailed, match=sentence):
        check_statement(query, read_only=True)


def test_deep_nesting_ends_with_a_sentence() -> None:
    with pytest.raises(ParserError):
        check_statement("SELECT " + "(" * 30_000 + "1" + ")" * 30_000 + "; SELECT 2", read_only=True)


@pytest.mark.parametrize("query", [";" * 100_000, "(" * 100_000, "CASE " * 20_000, "a," * 50_000])
def test_a_query_that_takes_long_to_read_is_read_elsewhere(query: str) -> None:
    used = time.process_time()
    with pytest.raises(ParserError):
        check_statement(query, read_only=True)
    assert time.process_time() - used < 1  # processor time of this process, not of the parser's
