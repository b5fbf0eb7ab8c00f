"""Records the statements of a piece of work and asks the database how it carries them out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction

MAX_ROWS_READ = 100  # of one table in one statement; the history of these tests is many times that
PARTIAL = re.compile(r"CREATE (?:UNIQUE )?INDEX .* WHERE ", re.DOTALL)


@dataclass
class Recorder:
    """The statements that ran against `tables` inside `recording`."""

    tables: frozenset[str]
    statements: list[tuple[str, Any]] = field(default_factory=list)

    @contextmanager
    def recording(self) -> Iterator[None]:
        with connection.execute_wrapper(self._note):
            yield

    def _note(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not many and sql.startswith(("SELECT", "UPDATE", "DELETE")) and any(t in sql for t in self.tables):
            self.statements.append((sql, params))
        return execute(sql, params, many, context)

    def faults(self) -> list[str]:
        """Return the statements that read history, each with the reason."""
        find = rows_read if connection.vendor == "postgresql" else scans
        return [
            f"{fault}\n    {sql}"
            for sql, params in self.statements
            for fault in find(sql, params, self.tables)
        ]


def rows_read(sql: str, params: Any, tables: frozenset[str]) -> list[str]:
    """Run the statement once more, count what each scan of PostgreSQL reads, and undo it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
        found = cursor.fetchone()[0]
        transaction.set_rollback(True)
    plan = (found if isinstance(found, list) else json.loads(found))[0]["Plan"]
    return [
        f"{node['Node Type']} of {node['Relation Name']} reads {read:.0f} rows"
        for node in nodes_of(plan)
        if node.get("Relation Name") in tables and (read := read_by(node)) > MAX_ROWS_READ
    ]


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from nodes_of(part)


def read_by(node: dict[str, Any]) -> float:
    thrown_away = sum(value for name, value in node.items() if name.startswith("Rows Removed by"))
    return float((node["Actual Rows"] + thrown_away) * node["Actual Loops"])


def scans(sql: str, params: Any, tables: frozenset[str]) -> list[str]:
    """Return the steps of SQLite's plan that read a whole table, or a whole index of all rows."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        steps = [row[3] for row in cursor.fetchall()]
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'")
        partial = {name for name, made in cursor.fetchall() if made and PARTIAL.match(made)}
    aliases = [alias for table, alias in re.findall(r'"(\w+)" ([A-Z]\d+)\b', sql) if table in tables]
    scan = re.compile(rf"SCAN (?:{'|'.join([*tables, *aliases])})\b(?:.* INDEX (\w+))?")
    return [step for step in steps if (found := scan.match(step)) and found.group(1) not in partial]
