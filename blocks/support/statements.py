"""Check SQL statements: exactly one, and read-only where required.

The database enforces this with a read-only transaction; this check gives a clear message before anything is sent.
"""

from __future__ import annotations

import sqlparse
from sqlparse.tokens import Comment

from blocks.errors import BlockFailed
from boundary.parser_process import parse_isolated

PARSER = "boundary.parsers.sql"
MAX_QUERY_CHARACTERS = 100_000
READING = frozenset({"SELECT", "WITH", "EXPLAIN", "SHOW", "VALUES", "DESCRIBE", "TABLE"})


def check_statement(query: str, *, read_only: bool) -> None:
    """Raise BlockFailed unless the query is one statement, and a reading one if `read_only`."""
    if not query.strip():
        raise BlockFailed("`query` is empty.")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise BlockFailed(f"The query is longer than {MAX_QUERY_CHARACTERS} characters.")
    statements = parse_isolated(PARSER, query.encode("utf-8", "surrogatepass"))
    if statements != 1:
        raise BlockFailed(f"The query must be exactly one statement; it has {statements}.")
    if read_only and first_word(query) not in READING:
        raise BlockFailed(
            "This query may change data, but `read_only` is on. Switch it off to allow changes."
        )


def first_word(query: str) -> str:
    """Return the first keyword of a query in capitals, skipping comments and parentheses."""
    for kind, text in sqlparse.lexer.tokenize(query):  # type: ignore[no-untyped-call]
        word = text.strip().strip("(").strip()
        if word and kind not in Comment:
            return str(word.split()[0].upper())
    return ""
