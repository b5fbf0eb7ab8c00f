"""Read tables from CSV text, XLSX and XLS files, in an isolated process and within limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blocks import limits
from blocks.errors import BlockFailed
from blocks.schema import JSON
from boundary.parser_process import parse_isolated

PARSER = "boundary.parsers.tables"
ZIP_MAGIC = b"PK\x03\x04"
XLS_MAGIC = b"\xd0\xcf\x11\xe0"


@dataclass(frozen=True, kw_only=True)
class CsvDialect:
    """The format of CSV text."""

    delimiter: str
    quotechar: str
    escapechar: str


def read_csv(text: str, dialect: CsvDialect) -> list[list[str]]:
    """Return the rows of CSV text; raise BlockFailed or ParserError."""
    for name, character in (("delimiter", dialect.delimiter), ("quotechar", dialect.quotechar)):
        if len(character) != 1 or character in "\r\n":
            raise BlockFailed(f"`{name}` must be one character.")
    if len(dialect.escapechar) > 1:
        raise BlockFailed("`escapechar` must be one character or empty.")
    written = {
        "delimiter": dialect.delimiter,
        "quotechar": dialect.quotechar,
        "escapechar": dialect.escapechar or None,
    }
    return read_table(text.encode("utf-8", "surrogatepass"), {"dialect": written})


def read_workbook(content: bytes) -> list[list[str]]:
    """Return the rows of the first sheet of an XLSX or XLS file; raise ParserError."""
    return read_table(content, {})


def is_workbook(content: bytes) -> bool:
    return content.startswith((ZIP_MAGIC, XLS_MAGIC))


def read_table(content: bytes, arguments: Mapping[str, JSON]) -> list[list[str]]:
    allowed = {
        "max_rows": limits.MAX_SPREADSHEET_ROWS,
        "max_cells": limits.MAX_SPREADSHEET_CELLS,
        "max_characters": limits.MAX_BLOCK_TEXT_CHARACTERS,
        "max_bytes": limits.MAX_SPREADSHEET_BYTES,
    }
    rows: list[list[str]] = parse_isolated(PARSER, content, {**arguments, "limits": allowed})
    return rows
