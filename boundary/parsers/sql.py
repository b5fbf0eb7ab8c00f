"""Count the statements in SQL text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlparse
from sqlparse.exceptions import SQLParseError
from sqlparse.sql import Statement

from boundary.errors import UnreadableContent


def parse(body: bytes, arguments: Mapping[str, Any]) -> int:
    """Return the number of statements, not counting comments and blanks; raise UnreadableContent."""
    try:
        statements = sqlparse.parse(body.decode("utf-8", "surrogatepass"))
    except (SQLParseError, RecursionError):
        raise UnreadableContent("The query is nested too deeply.") from None
    return sum(not is_blank(statement) for statement in statements)


def is_blank(statement: Statement) -> bool:
    return not str(sqlparse.format(str(statement), strip_comments=True)).strip(" \t\r\n;")
