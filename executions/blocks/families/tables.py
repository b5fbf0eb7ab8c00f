"""Tables out of files: CSV text, XLSX and XLS, read row by row within limits."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from durable import limits
from executions.blocks.errors import BlockFailed

ZIP_MAGIC = b"PK\x03\x04"
XLS_MAGIC = b"\xd0\xcf\x11\xe0"


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How CSV text is written."""

    delimiter: str
    quotechar: str
    escapechar: str


def read_csv(text: str, dialect: Dialect) -> Iterator[list[str]]:
    """The rows of CSV text; raises BlockFailed."""
    for name, character in (("delimiter", dialect.delimiter), ("quotechar", dialect.quotechar)):
        if len(character) != 1 or character in "\r\n":
            raise BlockFailed(f"`{name}` must be one character.")
    if len(dialect.escapechar) > 1:
        raise BlockFailed("`escapechar` must be one character or empty.")
    try:
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=dialect.delimiter,
            quotechar=dialect.quotechar,
            escapechar=dialect.escapechar or None,
        )
        yield from limit_rows(reader)
    except (csv.Error, ValueError, TypeError) as error:
        raise BlockFailed(f"The text cannot be read as CSV: {error}.") from None


def read_workbook(content: bytes) -> Iterator[list[str]]:
    """The rows of the first sheet of an XLSX or XLS file; raises BlockFailed."""
    if content.startswith(XLS_MAGIC):
        return limit_rows(read_xls(content))
    return limit_rows(read_xlsx(content))


def is_workbook(content: bytes) -> bool:
    return content.startswith((ZIP_MAGIC, XLS_MAGIC))


def read_xlsx(content: bytes) -> Iterator[list[str]]:
    check_archive(content)
    # openpyxl takes 0.2 s to import, and most agents never see a spreadsheet. It parses with defusedxml.
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True):
            yield [as_cell(value) for value in row]
    except (
        InvalidFileException,
        KeyError,
        ValueError,
        IndexError,
        TypeError,
        AttributeError,
        SyntaxError,
    ) as error:
        raise BlockFailed(f"The file is no readable spreadsheet: {error}.") from None


def read_xls(content: bytes) -> Iterator[list[str]]:
    import xlrd  # as above: rarely needed
    from xlrd.biffh import XLRDError
    from xlrd.compdoc import CompDocError

    try:
        sheet = xlrd.open_workbook(file_contents=content, logfile=io.StringIO()).sheet_by_index(0)
        for index in range(sheet.nrows):
            yield [as_cell(value) for value in sheet.row_values(index)]
    except (
        XLRDError,
        CompDocError,
        IndexError,
        ValueError,
        AssertionError,
        KeyError,
    ) as error:
        raise BlockFailed(f"The file is no readable spreadsheet: {error}.") from None


def check_archive(content: bytes) -> None:
    """Refuse an archive that unpacks to far more than it is, before any of it is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            actual = (
                sum(measure_entry(archive, entry) for entry in archive.infolist()) if size <= MOST else size
            )
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise BlockFailed(f"The file is no readable spreadsheet: {error}.") from None
    if max(size, actual) > MOST:
        raise BlockFailed(f"The spreadsheet unpacks to more than {MOST} bytes.")


MOST = limits.MAX_SPREADSHEET_BYTES
CHUNK = 64 * 1024


def measure_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """The true unpacked size, up to the limit: what a header says may be a lie."""
    size = 0
    with archive.open(entry) as stream:
        while size <= MOST and (chunk := stream.read(CHUNK)):
            size += len(chunk)
    return size


def limit_rows(rows: Iterator[Sequence[str]]) -> Iterator[list[str]]:
    for count, row in enumerate(rows):
        if count >= limits.MAX_SPREADSHEET_ROWS:
            raise BlockFailed(f"The table has more than {limits.MAX_SPREADSHEET_ROWS} rows.")
        yield list(row)


def as_cell(value: Any) -> str:
    """A cell as a person reads it: 3 instead of 3.0, a date in ISO form, nothing as empty text."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return str(value)
