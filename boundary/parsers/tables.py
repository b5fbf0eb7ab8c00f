"""Read tables from CSV text, XLSX and XLS, within limits on rows, cells and characters."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

import xlrd
from openpyxl import load_workbook  # parses with defusedxml
from openpyxl.utils.exceptions import InvalidFileException
from xlrd.biffh import XLRDError
from xlrd.compdoc import CompDocError

from boundary.errors import UnreadableContent
from boundary.parsers.utf8 import decode_text

XLS_MAGIC = b"\xd0\xcf\x11\xe0"
CHUNK = 64 * 1024
BROKEN = (KeyError, ValueError, IndexError)  # what both libraries raise on damaged files


@dataclass(frozen=True, kw_only=True)
class TableLimits:
    """Size limits of a table."""

    max_rows: int
    max_cells: int
    max_characters: int
    max_bytes: int  # size of the unpacked workbook


def parse(body: bytes, arguments: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of UTF-8 CSV text if a dialect is given, else of the first sheet of a workbook."""
    allowed = TableLimits(**arguments["limits"])
    if dialect := arguments.get("dialect"):
        return list(read_csv(decode_text(body), dialect, allowed))
    rows = read_xls(body) if body.startswith(XLS_MAGIC) else read_xlsx(body, allowed.max_bytes)
    return list(limit_table(rows, allowed))


def read_csv(text: str, dialect: Mapping[str, str | None], allowed: TableLimits) -> Iterator[list[str]]:
    """Yield the rows of CSV text; `dialect` holds arguments for `csv.reader`. Raises UnreadableContent."""
    try:
        reader = csv.reader(io.StringIO(text, newline=""), **dialect)  # type: ignore[arg-type]
        yield from limit_table(reader, allowed)
    except (csv.Error, ValueError, TypeError) as error:
        raise UnreadableContent(f"The text cannot be read as CSV: {error}.") from None


def read_xlsx(content: bytes, max_bytes: int) -> Iterator[list[str]]:
    check_archive(content, max_bytes)
    try:
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True):
            yield [as_cell(value) for value in row]
    except (*BROKEN, InvalidFileException, TypeError, AttributeError, SyntaxError) as error:
        raise UnreadableContent(f"The file is not a readable spreadsheet: {error}.") from None


def read_xls(content: bytes) -> Iterator[list[str]]:
    try:
        sheet = xlrd.open_workbook(file_contents=content, logfile=io.StringIO()).sheet_by_index(0)
        for index in range(sheet.nrows):
            yield [as_cell(value) for value in sheet.row_values(index)]
    except (*BROKEN, XLRDError, CompDocError, AssertionError) as error:
        raise UnreadableContent(f"The file is not a readable spreadsheet: {error}.") from None


def check_archive(content: bytes, max_bytes: int) -> None:
    """Raise UnreadableContent for an archive that would unpack to more than the limit."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            size = sum(entry.file_size for entry in entries)
            if size <= max_bytes:
                size = max(size, sum(measure_entry(archive, entry, max_bytes) for entry in entries))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise UnreadableContent(f"The file is not a readable spreadsheet: {error}.") from None
    if size > max_bytes:
        raise UnreadableContent(f"The spreadsheet unpacks to more than {max_bytes} bytes.")


def measure_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, max_bytes: int) -> int:
    """Return the real unpacked size, up to the limit; headers can lie."""
    size = 0
    with archive.open(entry) as stream:
        while size <= max_bytes and (chunk := stream.read(CHUNK)):
            size += len(chunk)
    return size


def limit_table(rows: Iterable[Sequence[str]], allowed: TableLimits) -> Iterator[list[str]]:
    cells = characters = 0
    for count, row in enumerate(rows):
        if count >= allowed.max_rows:
            raise UnreadableContent(f"The table has more than {allowed.max_rows} rows.")
        cells += len(row)
        characters += sum(map(len, row))
        if cells > allowed.max_cells:
            raise UnreadableContent(f"The table has more than {allowed.max_cells} cells.")
        if characters > allowed.max_characters:
            raise UnreadableContent(f"The table has more than {allowed.max_characters} characters.")
        yield list(row)


def as_cell(value: Any) -> str:
    """Return a cell as text: 3 instead of 3.0, dates in ISO format, empty cells as ""."""
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
