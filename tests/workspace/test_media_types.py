"""SECURITY.md case 66: what a file is comes from its content."""

from __future__ import annotations

import gzip
import io
import re
import time
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.pictures import picture
from workspace.media_types import HEAD_BYTES, detect

SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "x")
    return out.getvalue()


DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (picture("PNG"), "a.png", "image/png"),
        (picture("JPEG"), "a.txt", "image/jpeg"),
        (picture("GIF"), "a", "image/gif"),
        (picture("WEBP"), "a.html", "image/webp"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a", "application/pdf"),
        (b"%PDF-1.7 only text", "a.txt", "application/pdf"),
        (zipped(), "a.zip", "application/zip"),
        (zipped(), "a.docx", DOCX),
        (zipped(), "a.png", "application/zip"),
        (gzip.compress(b"x"), "a.gz", "application/x-gzip"),
        (b"hello", "a.txt", "text/plain"),
        (b"", "a", "text/plain"),
        ("grüße".encode(), "a", "text/plain"),
        (b"a,b\n1,2\n", "a.csv", "text/csv"),
        (b"# hi", "a.md", "text/markdown"),
        (b'{"a": 1}', "a.json", "application/json"),
        (b"\0\1\2\3", "a.txt", "application/octet-stream"),
        (b"\xff\xfe\xfd" * 10, "a.png", "application/octet-stream"),
    ],
)
def test_case_66_the_type_is_found_from_the_content(content: bytes, name: str, expected: str) -> None:
    assert detect(content[:HEAD_BYTES], name) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"<!DOCTYPE html><p>",
        b"\n <HTML >",
        b"<script>alert(1)</script>",
        b"<!-- x --><body>",
        b"\xef\xbb\xbf<html>",
        b"<iframe src=x>",
    ],
)
@pytest.mark.parametrize("name", ["a.png", "a.txt", "a.csv", "a"])
def test_case_66_html_is_html_whatever_its_name(content: bytes, name: str) -> None:
    assert detect(content, name) == "text/html"


@pytest.mark.parametrize("content", [SVG, b"<svg>", b"text before <SVG onload=alert(1)>"])
def test_case_66_svg_is_never_a_plain_picture(content: bytes) -> None:
    assert detect(content, "a.png") == "image/svg+xml"


def test_case_66_a_polyglot_is_what_a_picture_reader_makes_of_it() -> None:
    assert detect(picture("GIF") + b"<script>alert(1)</script>", "a.html") == "image/gif"


def test_a_character_cut_at_the_end_of_the_head_is_still_text() -> None:
    text = ("a" * (HEAD_BYTES - 1) + "ü").encode()
    assert detect(text[:HEAD_BYTES], "a") == "text/plain"


@given(st.binary(max_size=200), st.sampled_from(["a", "a.png", "a.html", "a.svg", "a.txt"]))
def test_any_content_has_a_type(content: bytes, name: str) -> None:
    kind = detect(content, name)
    assert "/" in kind and len(kind) <= 127
    if kind in ("text/plain", "text/csv"):
        content.decode()


# The rule as one pattern: right, but exponential in the number of comments, so only for texts of a few of them.
HTML_RULE = re.compile(
    rb"\s*(<!--.*?-->\s*)*<(!doctype\s+html|html|script|b)[\s/>]",
    re.IGNORECASE | re.DOTALL,
)
PIECES = st.sampled_from(
    [b"<!--", b"-->", b" ", b"\n", b"-", b"<", b"<b>", b"<!doctype  html>", b"<HTML/", b"x"]
)


@given(st.lists(PIECES, max_size=8).map(b"".join))
def test_case_66_html_is_found_behind_comments_as_the_rule_says(content: bytes) -> None:
    assert (detect(content, "a") == "text/html") == bool(HTML_RULE.match(content))


@pytest.mark.usefixtures("frozen_process_ends")
@pytest.mark.parametrize(
    "content",
    [
        b"<!---->" * (HEAD_BYTES // 7),
        b"<!-- -->\n" * (HEAD_BYTES // 9),
        b"<!--" * (HEAD_BYTES // 4),
        b"<!--" + b"-->" * (HEAD_BYTES // 3),
        b" " * HEAD_BYTES,
        b"<!--" + b"--> " * (HEAD_BYTES // 4),
        b"<!doctype" + b" " * HEAD_BYTES,
        b"<?xml" + b" " * HEAD_BYTES,
        b"<svg" * (HEAD_BYTES // 4),
    ],
    ids=[
        "comments",
        "lines of comments",
        "open",
        "closed",
        "spaces",
        "closed lines",
        "doctype",
        "xml",
        "svg",
    ],
)
def test_content_made_to_be_slow_has_its_type_at_once(content: bytes) -> None:
    assert detect(content[:HEAD_BYTES], "a") in ("text/plain", "application/xml")


@pytest.mark.parametrize(
    "piece", [b"\0", b"\xff", b"PK\x03\x04", b"RIFF", b"%PDF", b"<!--", b"<svg", b" ", b"\0<?xml "]
)
def test_a_kind_is_found_in_a_moment_whatever_the_file_begins_with(piece: bytes) -> None:
    """Which is why it is found in the process itself: at most HEAD_BYTES are looked at."""
    detect(b"\0", "warm.bin")
    used = time.process_time()
    for _ in range(20):
        detect((piece * HEAD_BYTES)[:HEAD_BYTES], "a.bin")
    assert time.process_time() - used < 2
