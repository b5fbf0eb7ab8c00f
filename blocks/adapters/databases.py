"""Queries to the user's databases: PostgreSQL over the network, SQLite from a file."""

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

from blocks import limits
from blocks.adapters.network import NetworkAccess
from blocks.adapters.sqlite_child import show, take, unique
from blocks.ports import JSON, DatabaseAnswer, DatabaseQuery, PortError
from blocks.script_process import ScriptStopped, run_script
from blocks.support.statements import first_word
from durable.database import outside_wait
from durable.stop_signal import StopSignal

SQLITE_CHILD = Path(__file__).with_name("sqlite_child.py")
POSTGRES_PORT = 5432
NOT_EMPTY = {"client_encoding": "UTF8", "min_protocol_version": "3.0", "max_protocol_version": "3.0"}
ADVICE = {
    "certificate": "If the server's certificate is not public, add your authority's certificate to the login.",
    "does not support SSL": "Logins are sent over TLS only. Enable TLS on the server.",
    "authentication method requirement": "Only SCRAM logins are supported. Set scram-sha-256 on the server.",
}
MASK = "[hidden]"
ROWS_AT_ONCE = 100
WITHOUT_CURSOR = frozenset({"EXPLAIN", "SHOW", "DESCRIBE"})


class OutsideDatabases:
    """Runs one statement per connection, read-only unless requested otherwise."""

    def __init__(self, reach: NetworkAccess | None = None) -> None:
        self._reach = reach or NetworkAccess()

    def run(self, query: DatabaseQuery, cancel: StopSignal) -> DatabaseAnswer:
        if query.kind == "sqlite":
            return run_sqlite(query)
        if query.kind == "postgres":
            return self._run_postgres(query, cancel)
        raise PortError(f"{query.kind} is not supported here. Use postgres, or sqlite with a file.")

    @outside_wait()
    def _run_postgres(self, query: DatabaseQuery, cancel: StopSignal) -> DatabaseAnswer:
        import psycopg  # slow to import; workers have it loaded by Django

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
            raise PortError(f"The database returned an error: {mask(text, query)}{advice(text)}") from None


def advice(text: str) -> str:
    """Return what to do about a connection that was refused to protect the password."""
    return next((f" {sentence}" for words, sentence in ADVICE.items() if words in text), "")


def libpq_options(query: DatabaseQuery, port: int, address: str) -> dict[str, Any]:
    """Return our connection options, and neutral values for those libpq would take from the environment."""
    from psycopg.pq import Conninfo

    known = {option.keyword.decode(): option for option in Conninfo.get_defaults()}
    from_environment = {
        name: NOT_EMPTY.get(name) or (option.compiled or b"").decode()
        for name, option in known.items()
        if option.envvar
        and name != "service"  # has no neutral value, and fills in only options that are not set
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
    """Return options that protect the password: TLS with a verified host name, and SCRAM authentication.

    SCRAM never reveals the password; servers that ask for it in clear text or as MD5 are refused. Where the operator
    allows plaintext, servers without authentication are accepted too.
    """
    return {
        "sslmode": "disable" if plaintext else "verify-full",
        "sslrootcert": "" if plaintext else authorities,
        "sslcertmode": "disable",  # no client certificate from our home folder
        "require_auth": "scram-sha-256,none" if plaintext else "scram-sha-256",
        "gssencmode": "disable",
        "passfile": os.devnull,
    }


@contextmanager
def authority_file(ca_certificate: str) -> Iterator[str]:
    """Yield the path of the trusted certificates: the given one, else the public authorities."""
    if not ca_certificate:
        yield certifi.where()
        return
    with tempfile.NamedTemporaryFile("w", suffix=".pem", encoding="utf-8") as file:
        file.write(ca_certificate)
        file.flush()
        yield file.name


def read_postgres(connection: Any, query: DatabaseQuery) -> DatabaseAnswer:
    """Read through a server-side cursor if possible, so that a large result is never held in memory."""
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
    """Return the database's message without host, user name and password."""
    for secret in sorted((query.password, query.host, query.username), key=len, reverse=True):
        if secret:
            text = text.replace(secret, MASK)
    return " ".join(text.split())[:1000]


def run_sqlite(query: DatabaseQuery) -> DatabaseAnswer:
    """Run the statement in a separate process, which contains hostile files and endless queries."""
    job = {
        "content": base64.b64encode(query.content).decode("ascii"),
        "query": query.query,
        "seconds": query.timeout_seconds,
        "max_rows": query.max_rows,
        "max_characters": limits.MAX_BLOCK_TEXT_CHARACTERS,
    }
    try:
        answer = run_script(
            SQLITE_CHILD,
            job,
            seconds=query.timeout_seconds,
            memory_bytes=limits.SQLITE_MEMORY_BYTES,
            file_bytes=limits.MAX_SPREADSHEET_BYTES,
        )
    except ScriptStopped as error:
        raise PortError(f"The query was stopped: {error}.") from None
    if "error" in answer:
        raise PortError(f"The database returned an error: {answer['error']}")
    return DatabaseAnswer(
        columns=tuple(answer["columns"]), rows=tuple(answer["rows"]), truncated=bool(answer["truncated"])
    )
