"""Dump and load the database: a SQLite copy, pg_dump, or JSON that loads into both."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from django.apps import apps
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import connection

from copilot_project import limits
from copilot_project.ops.backup.errors import DumpToolFailed, NotABackup, OtherDatabase

SQLITE, POSTGRES, PORTABLE = "database.sqlite3", "database.pgdump", "database.json"
NOT_COPIED = ("contenttypes", "auth.permission", "sessions", "durable.workerbeat")


def dump(folder: Path, *, portable: bool) -> str:
    """Write a consistent copy of the whole database and return its file name. Other processes keep working."""
    if portable or (connection.vendor == "postgresql" and not shutil.which("pg_dump")):
        dump_json(folder / PORTABLE)
        return PORTABLE
    if connection.vendor == "sqlite":
        dump_sqlite(folder / SQLITE)
        return SQLITE
    words = ["--format=custom", "--no-owner", "--no-privileges", f"--file={folder / POSTGRES}"]
    run_tool(["pg_dump", *words, *own_schema()])
    return POSTGRES


def load(path: Path) -> None:
    """Replace the database with a copy, then run the migrations."""
    if path.name not in LOADERS:
        raise NotABackup
    LOADERS[path.name](path)
    call_command("migrate", interactive=False, verbosity=0)


def is_empty() -> bool:
    """Return whether the database has not been used yet."""
    if apps.get_model("accounts.User")._meta.db_table not in connection.introspection.table_names():
        return True
    return not apps.get_model("accounts.User")._default_manager.exists()


# --- SQLite -------------------------------------------------------------------------------------


def dump_sqlite(path: Path) -> None:
    connection.ensure_connection()
    with closing(sqlite3.connect(path)) as copy:
        connection.connection.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file


def load_sqlite(path: Path) -> None:
    if connection.vendor != "sqlite":
        raise OtherDatabase
    connection.ensure_connection()
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as copy:
            copy.backup(connection.connection)
    except sqlite3.DatabaseError as error:
        raise NotABackup(f"The database in the backup cannot be read: {error}.") from error
    connection.close()


# --- PostgreSQL ---------------------------------------------------------------------------------


def load_postgres(path: Path) -> None:
    if connection.vendor != "postgresql":
        raise OtherDatabase
    connection.close()
    name = connection.settings_dict["NAME"]
    words = ["--clean", "--if-exists", "--no-owner", "--no-privileges", "--exit-on-error", f"--dbname={name}"]
    run_tool(["pg_restore", *words, str(path)])


def own_schema() -> list[str]:
    """Limit a dump to the schema that DATABASE_URL chose: others of that database belong to somebody else."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        [name] = cursor.fetchone()
    quoted = str(name).replace('"', '""')
    return [] if name in (None, "public") else [f'--schema="{quoted}"']


def run_tool(command: list[str]) -> None:
    """Run a client program of PostgreSQL; the password is in the environment, since the process list is public."""
    given = connection.settings_dict
    told = {
        "PGHOST": given["HOST"],
        "PGPORT": str(given["PORT"]),
        "PGUSER": given["USER"],
        "PGPASSWORD": given["PASSWORD"],
        "PGDATABASE": given["NAME"],
    }
    environment = os.environ | {name: value for name, value in told.items() if value}
    program = shutil.which(command[0])
    if program is None:
        raise DumpToolFailed(f"{command[0]} is not installed. Install the PostgreSQL client programs.")
    result = subprocess.run(  # noqa: S603
        [program, *command[1:]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=limits.BACKUP_SECONDS,
        check=False,
    )
    if result.returncode:
        raise DumpToolFailed(f"{command[0]}: {result.stderr.strip()}")


# --- JSON ---------------------------------------------------------------------------------------


def dump_json(path: Path) -> None:
    call_command(
        "dumpdata", exclude=list(NOT_COPIED), use_natural_foreign_keys=True, output=str(path), verbosity=0
    )


def load_json(path: Path) -> None:
    """Load JSON into existing tables, replacing rows that migrations created."""
    call_command("migrate", interactive=False, verbosity=0)
    call_command("flush", interactive=False, verbosity=0)
    Group.objects.all().delete()
    call_command("loaddata", str(path), verbosity=0)


LOADERS: dict[str, Callable[[Path], None]] = {
    SQLITE: load_sqlite,
    POSTGRES: load_postgres,
    PORTABLE: load_json,
}
