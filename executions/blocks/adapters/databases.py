"""Databases that are not ours, as a port: PostgreSQL over the network, SQLite out of a file."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import certifi

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
NOT_EMPTY = {"client_encoding": "UTF8", "min_protocol_version": "3.0", "max_protocol_version": "3.0"}
ADVICE = {
    "certificate": "Keep the certificate of your own authority with the login if the server has no public one.",
    "does not support SSL": "A login is sent over TLS only. Switch TLS on at the server.",
    "authentication method requirement": "A login is proved by SCRAM only. Set scram-sha-256 at the server.",
}
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
        plaintext = self._reach.allows_plaintext(query.host, port)
        try:
            with (
                authority_file(query.ca_certificate) as authorities,
                psycopg.connect(
                    **libpq_options(query, port, addresses[0])
                    | security_options(authorities, plaintext=plaintext)
                ) as connection,
            ):
                connection.read_only = query.read_only
                remove = cancel.add_callback(connection.cancel)
                try:
                    return read_postgres(connection, query)
                finally:
                    remove()
        except psycopg.Error as error:
            text = str(error).strip() or type(error).__name__
            raise PortError(f"The database refused: {mask(text, query)}{advice(text)}") from None


def advice(text: str) -> str:
    """What to do about a connection that was given up because the password would not have been safe on it."""
    return next((f" {sentence}" for words, sentence in ADVICE.items() if words in text), "")


def libpq_options(query: DatabaseQuery, port: int, address: str) -> dict[str, Any]:
    """Return every option that libpq would otherwise take from the environment of this process, and ours."""
    from psycopg.pq import Conninfo

    known = {option.keyword.decode(): option for option in Conninfo.get_defaults()}
    from_environment = {
        name: NOT_EMPTY.get(name) or (option.compiled or b"").decode()
        for name, option in known.items()
        if option.envvar
        and name != "service"  # has no value for "none"; a service fills in only what is not set
    }
    return from_environment | {
        "host": query.host,
        "hostaddr": address,
        "port": port,
        "dbname": query.database,
        "user": query.username,
        "password": query.password,
        "connect_timeout": max(int(query.timeout_seconds), 2),
        "options": f"-c statement_timeout={int(query.timeout_seconds * 1000)}",
        "application_name": "ratchet",
    }


def security_options(authorities: str, *, plaintext: bool) -> dict[str, str]:
    """Return what keeps the password with its owner: TLS with a verified name, and a login that never shows it.

    Only SCRAM proves the password to a server that knows it; a server that asks for it in clear or as MD5 is left.
    Where the operator allows no TLS, a server that asks for nothing is taken too.
    """
    return {
        "sslmode": "disable" if plaintext else "verify-full",
        "sslrootcert": "" if plaintext else authorities,
        "sslcertmode": "disable",  # no certificate from the home folder of this process
        "require_auth": "scram-sha-256,none" if plaintext else "scram-sha-256",
        "gssencmode": "disable",
        "passfile": os.devnull,
    }


@contextmanager
def authority_file(ca_certificate: str) -> Iterator[str]:
    """The path of the certificates to trust: the given ones alone, else the public authorities."""
    if not ca_certificate:
        yield certifi.where()
        return
    with tempfile.NamedTemporaryFile("w", suffix=".pem", encoding="utf-8") as file:
        file.write(ca_certificate)
        file.flush()
        yield file.name


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
