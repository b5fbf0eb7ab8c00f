"""Script that runs one read-only statement on a SQLite file, in a process with hard limits."""

from __future__ import annotations

import base64
import json
import math
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]

STEPS_BETWEEN_CHECKS = 10_000
MAX_VALUE_BYTES = 10_000_000
READING = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
REFUSED_FUNCTIONS = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})


def allow(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Authorize reading only: no ATTACH, no PRAGMA, no function with access to files."""
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def run(job: dict[str, Any], path: Path) -> dict[str, Any]:
    deadline = time.monotonic() + job["seconds"]
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS_BETWEEN_CHECKS)
        connection.set_authorizer(allow)
        cursor = connection.execute(job["query"])
        names = unique(column[0] for column in cursor.description or ())
        records = ({name: show(value) for name, value in zip(names, row, strict=True)} for row in cursor)
        rows, truncated = take(records, most=job["max_rows"], max_characters=job["max_characters"])
        return {"columns": names, "rows": rows, "truncated": truncated}
    finally:
        connection.close()


def take(records: Iterable[Record], *, most: int, max_characters: int) -> tuple[list[Record], bool]:
    """Return the first records within the limits on number and size, and whether there are more."""
    taken: list[Record] = []
    size = 0
    for record in records:
        size += sum(len(value) for value in record.values() if isinstance(value, str))
        if len(taken) == most or size > max_characters:
            return taken, True
        taken.append(record)
    return taken, False


def unique(names: Iterable[str]) -> list[str]:
    """Return the column names; a repeated name gets a number."""
    seen: dict[str, None] = {}
    for name in names:
        number, candidate = 2, name
        while candidate in seen:
            candidate, number = f"{name}_{number}", number + 1
        seen[candidate] = None
    return list(seen)


def show(value: Any) -> Any:
    """Return a column's value as JSON."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def main() -> None:
    """Read a job from standard input and write the answer to standard output."""
    job = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "database"
        path.write_bytes(base64.b64decode(job["content"]))
        try:
            answer = run(job, path)
        except (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError) as error:
            answer = {"error": str(error)}
        except MemoryError:
            answer = {"error": "The query needs too much memory."}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
