"""SQL statements: that there is one, and whether it only reads.

The database itself is the guard (a read-only transaction); this gives the clear sentence before anything is sent.
"""

from __future__ import annotations

import sqlparse
from sqlparse.tokens import Comment

from boundary.errors import ParserError
from boundary.isolated import parse_isolated
from boundary.parsers.errors import UnreadableContent
from executions.blocks.errors import BlockFailed

PARSER = "boundary.parsers.sql"
MAX_QUERY_CHARACTERS = 100_000
READING = frozenset({"SELECT", "WITH", "EXPLAIN", "SHOW", "VALUES", "DESCRIBE", "TABLE"})


def check_statement(query: str, *, read_only: bool) -> None:
    """Raise BlockFailed unless it is one statement, and one that reads where only reading is allowed."""
    if not query.strip():
        raise BlockFailed("`query` is empty.")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise BlockFailed(f"The query is longer than {MAX_QUERY_CHARACTERS} characters.")
    statements = count_statements(query)
    if statements != 1:
        raise BlockFailed(f"A query is exactly one statement; this has {statements}.")
    if read_only and first_word(query) not in READING:
        raise BlockFailed("This query changes something, and the block only reads. Switch `read_only` off.")


def count_statements(query: str) -> int:
    try:
        found: int = parse_isolated(PARSER, query.encode("utf-8", "surrogatepass"))
    except (ParserError, UnreadableContent) as error:
        raise BlockFailed(str(error)) from None
    return found


def first_word(query: str) -> str:
    """What a query begins with, in capitals; notes and parentheses in front of it do not count."""
    for kind, text in sqlparse.lexer.tokenize(query):  # type: ignore[no-untyped-call]
        word = text.strip().strip("(").strip()
        if word and kind not in Comment:
            return str(word.split()[0].upper())
    return ""
