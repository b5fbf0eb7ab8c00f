"""How many statements a text in SQL holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlparse
from sqlparse.exceptions import SQLParseError
from sqlparse.sql import Statement

from boundary.parsers.errors import UnreadableContent


def parse(body: bytes, arguments: Mapping[str, Any]) -> int:
    """Return the number of statements that are more than notes and blanks; raises UnreadableContent."""
    try:
        statements = sqlparse.parse(body.decode("utf-8", "surrogatepass"))
    except (SQLParseError, RecursionError):
        raise UnreadableContent("The query is nested too deeply.") from None
    return sum(not is_blank(statement) for statement in statements)


def is_blank(statement: Statement) -> bool:
    return not str(sqlparse.format(str(statement), strip_comments=True)).strip(" \t\r\n;")
