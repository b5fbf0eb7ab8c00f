"""Spreadsheets: real files, broken ones and bombs."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from datetime import datetime
from typing import Any

import pytest
from openpyxl import Workbook

from blocks import limits
from blocks.errors import BlockFailed
from blocks.examples import World
from blocks.registry import get_registry
from blocks.run import run_block
from tests.blocks.doubles import make_context

BLOCK = get_registry().get_by_name("Read Spreadsheet")


def read(content: bytes, **inputs: Any) -> list[tuple[str, Any]]:
    context = make_context(World(files={"table": content}))
    return list(run_block(BLOCK, {"file_input": "table", **inputs}, context))


def workbook(rows: list[list[Any]]) -> bytes:
    book = Workbook()
    sheet = book.worksheets[0]
    for row in rows:
        sheet.append(row)
    book.create_sheet("second").append(["never", "read"])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def repack(content: bytes, changes: dict[str, bytes]) -> bytes:
    """The same archive with some of its parts replaced or added."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, changes.get(name, old.read(name)))
        for name in changes.keys() - set(old.namelist()):
            new.writestr(name, changes[name])
    return buffer.getvalue()


def test_the_first_sheet_of_a_workbook_is_read_as_people_see_it() -> None:
    content = workbook(
        [["name", "n", "at", "ok"], ["Ada", 3.0, datetime(2025, 6, 15, 12), True], ["Bob", 2.5, None, None]]
    )
    assert read(content) == [
        (
            "rows",
            [
                {"name": "Ada", "n": "3", "at": "2025-06-15T12:00:00", "ok": "true"},
                {"name": "Bob", "n": "2.5", "at": "", "ok": ""},
            ],
        )
    ]


def test_columns_are_skipped_by_name_and_without_a_header_by_number() -> None:
    content = workbook([["a", "b"], ["1", "2"]])
    assert read(content, skip_columns=["a"]) == [("rows", [{"b": "2"}])]
    assert read(content, skip_columns=["0"]) == [("rows", [{"a": "1", "b": "2"}])]
    assert read(content, has_header=False, skip_columns=["0"]) == [("rows", [{"1": "b"}, {"1": "2"}])]


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = repack(workbook([["a"]]), {"xl/worksheets/sheet1.xml": b" " * (80 * 1024 * 1024)})
    assert len(bomb) < 1_000_000
    with pytest.raises(BlockFailed, match="unpacks to more than"):
        read(bomb)


def test_a_zip_bomb_that_lies_about_its_size_is_refused_too() -> None:
    bomb = bytearray(repack(workbook([["a"]]), {"big.xml": b" " * (80 * 1024 * 1024)}))
    true_size = (80 * 1024 * 1024).to_bytes(4, "little")
    assert true_size in bomb
    with pytest.raises(BlockFailed):
        read(bytes(bomb.replace(true_size, (100).to_bytes(4, "little"))))


def test_an_xml_bomb_inside_a_workbook_is_refused() -> None:
    entities = '<!ENTITY e0 "xxxxxxxxxx">'
    for number in range(1, 9):
        entities += f'<!ENTITY e{number} "{f"&e{number - 1};" * 10}">'
    sheet = f'<?xml version="1.0"?><!DOCTYPE w [{entities}]><worksheet>&e8;</worksheet>'
    for part in ("xl/worksheets/sheet1.xml", "xl/workbook.xml", "[Content_Types].xml"):
        with pytest.raises(BlockFailed):
            read(repack(workbook([["a"], ["1"]]), {part: sheet.encode()}))


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04",
        b"PK\x03\x04" + b"\0" * 100,
        b"\xd0\xcf\x11\xe0" + b"\0" * 600,
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    ],
)
def test_a_broken_workbook_is_told(content: bytes) -> None:
    with pytest.raises(BlockFailed, match="not a readable spreadsheet"):
        read(content)


def test_an_archive_that_is_no_workbook_is_told() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(BlockFailed, match="not a readable spreadsheet"):
        read(buffer.getvalue())


def test_more_rows_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SPREADSHEET_ROWS", 3)
    with pytest.raises(BlockFailed, match="more than 3 rows"):
        read(b"a\n1\n2\n3\n4")


def test_csv_with_quotes_line_breaks_and_latin_1_is_read() -> None:
    content = 'name;note\n"Ada; L.";"two\nlines"\nJos\xe9;x'.encode("latin-1")
    assert read(content, delimiter=";") == [
        ("rows", [{"name": "Ada; L.", "note": "two\nlines"}, {"name": "José", "note": "x"}])
    ]


def test_csv_with_a_byte_order_mark_has_a_clean_first_header() -> None:
    assert read("\ufeffname\nAda".encode()) == [("rows", [{"name": "Ada"}])]


def test_csv_with_a_cell_beyond_all_measure_is_told() -> None:
    with pytest.raises(BlockFailed, match="CSV"):
        read(b'a\n"' + b"x" * 200_000 + b'"')


@pytest.mark.parametrize("option", ["delimiter", "quotechar"])
@pytest.mark.parametrize("value", ["", "ab", "\n"])
def test_a_wrong_dialect_is_told(option: str, value: str) -> None:
    with pytest.raises(BlockFailed, match=f"`{option}` must be one character"):
        read(b"a\n1", **{option: value})


def wide_workbook(rows: int) -> bytes:
    """A few kilobytes: each row has one cell, in the last column there is."""
    cells = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, rows + 1))
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{space}"><sheetData>{cells}</sheetData></worksheet>'
    return repack(workbook([["a"]]), {"xl/worksheets/sheet1.xml": sheet.encode()})


def test_a_small_workbook_of_very_wide_rows_is_refused_and_takes_no_memory_here() -> None:
    content = wide_workbook(2_000)
    assert len(content) < 32_000
    tracemalloc.start()
    try:
        with pytest.raises(BlockFailed, match=f"more than {limits.MAX_SPREADSHEET_CELLS} cells"):
            read(content)
        assert tracemalloc.get_traced_memory()[1] < 16 * 1024 * 1024
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("content", [b"," * 9_000 + b"\n" + b"x\n" * 9_000, b"," * 2_000_000])
def test_csv_with_too_many_cells_is_refused_also_when_only_its_header_is_wide(content: bytes) -> None:
    with pytest.raises(BlockFailed, match=f"more than {limits.MAX_SPREADSHEET_CELLS} cells"):
        read(content)


def test_a_text_that_a_workbook_repeats_without_end_is_refused() -> None:
    """One shared text, named by every cell."""
    long = workbook([["x" * 30_000] * 100] * 10)
    with pytest.raises(BlockFailed, match=f"more than {limits.MAX_BLOCK_TEXT_CHARACTERS} characters"):
        read(long, has_header=False)
