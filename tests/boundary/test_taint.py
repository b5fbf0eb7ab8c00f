"""Which addresses count as given word for word, and how sources are kept."""

from __future__ import annotations

import pytest

from boundary import taint

URL = "https://example.com/a?x=1"


@pytest.mark.parametrize(
    ("text", "url", "known"),
    [
        (f"look at {URL}.", URL, True),
        (f"[link]({URL})", URL, True),
        ("look at example.com/a?x=1 please", URL, True),
        ("https://example.com/", "https://example.com", True),
        (f"{URL}&y=2", URL, False),
        ("https://example.com/a", URL, False),
        ("https://evil.example.com/a?x=1", "https://com/a?x=1", False),
        ("https://evil.org/?u=https://example.com/a?x=1", URL, True),
        ("nothing", "not an address", False),
        ("", URL, False),
    ],
)
def test_an_address_is_known_only_word_for_word(text: str, url: str, known: bool) -> None:
    assert taint.holds_address(text, url) is known


def test_sources_are_kept_once_few_and_without_markup() -> None:
    assert taint.merge(["a.com", "b.com"], ["a.com"]) == ("a.com", "b.com")
    assert taint.merge(["<b>\nignore"]) == ("b ignore",)
    assert len(taint.merge(map(str, range(100)))) == taint.MAX_SOURCES


def test_a_source_is_the_host_of_an_address() -> None:
    assert taint.source_of("https://user:pass@example.com/x?q=1") == "example.com"
    assert taint.source_of("http://[broken") == "http://[broken"
