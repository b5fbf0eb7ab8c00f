"""SQL statements: that there is one, and whether it only reads.

The database itself is the guard (a read-only transaction); this gives the clear sentence before anything is sent.
"""

from __future__ import annotations

import sqlparse
from sqlparse.exceptions import SQLParseError
from sqlparse.sql import Statement
from sqlparse.tokens import Comment

from executions.blocks.errors import BlockFailed

MAX_QUERY_CHARACTERS = 100_000
READING = frozenset({"SELECT", "WITH", "EXPLAIN", "SHOW", "VALUES", "DESCRIBE", "TABLE"})


def check_statement(query: str, *, read_only: bool) -> None:
    """Raise BlockFailed unless it is one statement, and one that reads where only reading is allowed."""
    if not query.strip():
        raise BlockFailed("`query` is empty.")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise BlockFailed(f"The query is longer than {MAX_QUERY_CHARACTERS} characters.")
    try:
        statements = [found for found in sqlparse.parse(query) if not is_blank(found)]
    except (SQLParseError, RecursionError):
        raise BlockFailed("The query is nested too deeply.") from None
    if len(statements) != 1:
        raise BlockFailed(f"A query is exactly one statement; this has {len(statements)}.")
    if read_only and first_word(query) not in READING:
        raise BlockFailed("This query changes something, and the block only reads. Switch `read_only` off.")


def is_blank(statement: Statement) -> bool:
    return not str(sqlparse.format(str(statement), strip_comments=True)).strip(" \t\r\n;")


def first_word(query: str) -> str:
    """What a query begins with, in capitals; notes and parentheses in front of it do not count."""
    for kind, text in sqlparse.lexer.tokenize(query):  # type: ignore[no-untyped-call]
        word = text.strip().strip("(").strip()
        if word and kind not in Comment:
            return str(word.split()[0].upper())
    return ""
