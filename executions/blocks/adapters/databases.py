"""Databases that are not ours, as a port: PostgreSQL over the network, SQLite out of a file."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from durable import limits
from durable.connections import outside_wait
from executions.blocks.adapters.reaching import Reach
from executions.blocks.adapters.sqlite_child import show, take, unique
from executions.blocks.families.statements import first_word
from executions.blocks.isolation import IsolatedFailed, run_isolated
from executions.ports import JSON, DatabaseAnswer, DatabaseQuery, PortError
from llm.types import CancelSignal

SQLITE_CHILD = Path(__file__).with_name("sqlite_child.py")
POSTGRES_PORT = 5432
MASK = "[hidden]"
ROWS_AT_ONCE = 100
WITHOUT_CURSOR = frozenset({"EXPLAIN", "SHOW", "DESCRIBE"})


class OutsideDatabases:
    """One statement per connection, in a transaction that only reads unless told otherwise."""

    def __init__(self, reach: Reach | None = None) -> None:
        self._reach = reach or Reach()

    def run(self, query: DatabaseQuery, cancel: CancelSignal) -> DatabaseAnswer:
        if query.kind == "sqlite":
            return run_sqlite(query)
        if query.kind == "postgres":
            return self._run_postgres(query, cancel)
        raise PortError(f"There is no driver for {query.kind} here. Use postgres, or sqlite with a file.")

    @outside_wait()
    def _run_postgres(self, query: DatabaseQuery, cancel: CancelSignal) -> DatabaseAnswer:
        import psycopg  # in a worker Django has it loaded; elsewhere nobody should wait for it

        port = query.port or POSTGRES_PORT
        addresses = self._reach.addresses(query.host, port)
        milliseconds = int(query.timeout_seconds * 1000)
        try:
            with psycopg.connect(
                host=query.host,
                hostaddr=addresses[0],
                port=port,
                dbname=query.database,
                user=query.username,
                password=query.password,
                connect_timeout=max(int(query.timeout_seconds), 2),
                options=f"-c statement_timeout={milliseconds}",
                application_name="ratchet",
            ) as connection:
                connection.read_only = query.read_only
                remove = cancel.add_callback(connection.cancel)
                try:
                    return read_postgres(connection, query)
                finally:
                    remove()
        except psycopg.Error as error:
            text = str(error).strip() or type(error).__name__
            raise PortError(f"The database refused: {mask(text, query)}") from None


def read_postgres(connection: Any, query: DatabaseQuery) -> DatabaseAnswer:
    """Through a cursor on the server where there can be one, so that a large result is never held in whole."""
    if query.read_only and first_word(query.query) not in WITHOUT_CURSOR:
        with connection.cursor(name="ratchet") as cursor:
            cursor.itersize = ROWS_AT_ONCE
            cursor.execute(query.query.encode())
            return make_answer(cursor, cursor, query.max_rows)
    with connection.cursor() as cursor:
        cursor.execute(query.query.encode())
        fetched = cursor.fetchmany(query.max_rows + 1) if cursor.description else []
        answer = make_answer(cursor, fetched, query.max_rows)
        return answer if query.read_only else replace(answer, affected_rows=max(cursor.rowcount, 0))


def make_answer(cursor: Any, rows: Iterable[Any], most: int) -> DatabaseAnswer:
    names = unique(column.name for column in cursor.description or ())
    records = ({name: to_json(value) for name, value in zip(names, row, strict=True)} for row in rows)
    taken, truncated = take(records, most=most, max_characters=limits.MAX_BLOCK_TEXT_CHARACTERS)
    return DatabaseAnswer(columns=tuple(names), rows=tuple(taken), truncated=truncated)


def to_json(value: Any) -> JSON:
    match value:
        case Decimal() | UUID() | timedelta():
            return str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case memoryview() | bytearray():
            return show(bytes(value))
        case list() | tuple():
            return [to_json(item) for item in value]
        case dict():
            return {str(key): to_json(item) for key, item in value.items()}
        case None | bool() | int() | float() | str() | bytes():
            return show(value)
        case _:
            return str(value)


def mask(text: str, query: DatabaseQuery) -> str:
    """The database's own words without where it is and how to get in."""
    for secret in sorted((query.password, query.host, query.username), key=len, reverse=True):
        if secret:
            text = text.replace(secret, MASK)
    return " ".join(text.split())[:1000]


def run_sqlite(query: DatabaseQuery) -> DatabaseAnswer:
    """In a process of its own: a hostile file or an endless query ends there."""
    job = {
        "content": base64.b64encode(query.content).decode("ascii"),
        "query": query.query,
        "seconds": query.timeout_seconds,
        "max_rows": query.max_rows,
        "max_characters": limits.MAX_BLOCK_TEXT_CHARACTERS,
    }
    try:
        answer = run_isolated(
            SQLITE_CHILD,
            job,
            seconds=query.timeout_seconds,
            memory_bytes=limits.SQLITE_MEMORY_BYTES,
            file_bytes=limits.MAX_SPREADSHEET_BYTES,
        )
    except IsolatedFailed as error:
        raise PortError(f"The query was stopped: {error}.") from None
    if "error" in answer:
        raise PortError(f"The database refused: {answer['error']}")
    return DatabaseAnswer(
        columns=tuple(answer["columns"]), rows=tuple(answer["rows"]), truncated=bool(answer["truncated"])
    )
