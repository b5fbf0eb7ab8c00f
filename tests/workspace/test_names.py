"""SECURITY.md case 63, and what holds for every name."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workspace import limits
from workspace.names import clean_path, numbered

TRICKY = st.lists(
    st.sampled_from(
        [
            *"/\\. :*?\0\n",
            "..",
            "CON",
            "nul",
            "a",
            "ä",
            "e\u0301",
            "\u202e",
            "\u200b",
            "\ud800",
            "x" * 130,
            "🎉",
        ]
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize(
    ("given_name", "shown"),
    [
        ("../../etc/cron.d/x", "etc/cron.d/x"),
        ("/etc/passwd", "etc/passwd"),
        ("C:\\Windows\\system32\\evil.dll", "Windows/system32/evil.dll"),
        ("\\\\server\\share\\x.txt", "server/share/x.txt"),
        ("a\0b.txt", "ab.txt"),
        ("CON", "_CON"),
        ("con.txt", "_con.txt"),
        ("LPT1.tar.gz", "_LPT1.tar.gz"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        (".bashrc", "bashrc"),
        (".ssh/.authorized_keys", "ssh/authorized_keys"),
        ("name. . ", "name"),
        ("a<b>c:d|e?f*.txt", "a_b_c_d_e_f_.txt"),
        ("", "file"),
        ("..", "file"),
        ("///", "file"),
        (" a  b\t.txt ", "a b.txt"),
        ("e\u0301.txt", "é.txt"),
        ("reports/2026/märz.csv", "reports/2026/märz.csv"),
    ],
)
def test_case_63_a_shown_name_is_cleaned(given_name: str, shown: str) -> None:
    assert clean_path(given_name) == shown


def test_case_63_a_name_of_300_characters_keeps_its_extension() -> None:
    cleaned = clean_path("x" * 300 + ".pdf")
    assert len(cleaned) == limits.MAX_NAME_CHARACTERS
    assert cleaned.endswith("x.pdf")


@given(st.one_of(st.text(max_size=80), TRICKY))
@example("a" * 5000)
@example("/".join("abc" * 10 for _ in range(100)))
@example("🎉" * 300 + ".png")
def test_every_name_becomes_one_that_is_safe_everywhere(text: str) -> None:
    cleaned = clean_path(text)
    assert 0 < len(cleaned) <= limits.MAX_PATH_CHARACTERS
    assert clean_path(cleaned) == cleaned
    assert not PurePosixPath(cleaned).is_absolute() and not PureWindowsPath(cleaned).is_absolute()
    cleaned.encode()
    for part in cleaned.split("/"):
        assert part == part.strip(". ") != ""
        assert len(part.encode()) <= limits.MAX_NAME_BYTES
        assert not any(unicodedata.category(character).startswith("C") for character in part)
        assert not PureWindowsPath(part).is_reserved()


@given(st.one_of(st.text(max_size=80), TRICKY), st.integers(2, 9_999))
def test_a_numbered_name_is_clean_and_another(text: str, number: int) -> None:
    path = clean_path(text)
    other = numbered(path, number)
    assert clean_path(other) == other
    assert f"({number})" in other
    assert other != path
    assert other.rpartition("/")[0] == path.rpartition("/")[0] or len(other) > limits.MAX_PATH_CHARACTERS - 10


def test_a_numbered_name_keeps_folder_and_extension() -> None:
    assert numbered("a/b.tar.gz", 2) == "a/b.tar (2).gz"
    assert numbered("b", 3) == "b (3)"
