"""Pages as text: what stays, what goes, and whatever bytes come."""

from __future__ import annotations

import codecs
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundary import limits
from boundary.errors import UnreadablePage
from boundary.readable import decode_text, make_readable

PAGE = """<!doctype html><html><head><title>News &amp;
 more</title><style>p{}</style><script>alert("s")</script></head>
<body><nav><a href="/">Home</a></nav><main><h1>Big news</h1><p>Read <b>this</b> <a href="/more?a=1">story</a>.</p>
<ul><li>one</li><li>two</li></ul><table><tr><th>A</th></tr><tr><td>1</td></tr></table><pre><code>x = 1
</code></pre><img alt="pixel" src="data:image/png;base64,iVBORw0KGgo="><p hidden>ignore me</p>
<form><input name="q"><button>Search</button></form></main><footer>imprint</footer></body></html>"""


def test_html_becomes_markdown_without_menus_scripts_and_hidden_text() -> None:
    page = make_readable(PAGE.encode(), media_type="text/html", url="https://example.com/a/b")
    assert page.title == "News & more"
    assert page.text.startswith("# Big news\n\nRead **this** [story](https://example.com/more?a=1).")
    for kept in ("- one\n- two", "| A |", "x = 1", "pixel"):
        assert kept in page.text
    for dropped in ("alert", "p{}", "Home", "ignore me", "imprint", "base64", "Search"):
        assert dropped not in page.text
    assert not page.cut


@pytest.mark.parametrize("media_type", ["", "application/octet-stream", "text/plain"])
def test_html_without_its_type_is_still_read_as_html(media_type: str) -> None:
    assert make_readable(b"<!DOCTYPE html><title>x</title><p>hi", media_type=media_type).title == "x"


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/json", "application/ld+json", "text/csv", ""]
)
def test_other_text_stays_as_it_is(media_type: str) -> None:
    assert make_readable(b'{"a": "<b>"}\n', media_type=media_type).text == '{"a": "<b>"}'


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("image/png", b"\x89PNG"),
        ("application/pdf", b"%PDF-1.7"),
        ("application/octet-stream", b"\0\1\2"),
        ("", b"\0"),
    ],
)
def test_what_is_not_text_is_refused(media_type: str, body: bytes) -> None:
    with pytest.raises(UnreadablePage):
        make_readable(body, media_type=media_type)


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("Grüße".encode(), None),
        ("Grüße".encode("latin-1"), "iso-8859-1"),
        (b'<meta charset="windows-1252">' + "Grüße".encode("cp1252"), None),
        (b'<meta http-equiv=content-type content="text/html; charset=utf-8">' + "Grüße".encode(), None),
        (codecs.BOM_UTF8 + "Grüße".encode(), "latin-1"),
        (codecs.BOM_UTF16_LE + "Grüße".encode("utf-16-le"), None),
        ("Grüße".encode(), "no-such-charset"),
        ("Grüße".encode(), "base64"),
        ("Grüße und schöne Tage, für alle übrigen Straßen".encode("cp1252"), None),
    ],
)
def test_the_charset_is_found(body: bytes, charset: str | None) -> None:
    assert "Grüße" in decode_text(body, charset)


def test_an_undeclared_japanese_page_is_read() -> None:
    text = "日本語のページには文字コードの宣言がないことがあります。それでも読めるべきです。" * 5
    assert decode_text(text.encode("shift_jis"), None) == text


def test_a_long_page_is_cut() -> None:
    page = make_readable(b"a" * (limits.MAX_PAGE_CHARACTERS + 1), media_type="text/plain")
    assert (len(page.text), page.cut) == (limits.MAX_PAGE_CHARACTERS, True)


def test_a_long_title_is_cut() -> None:
    page = make_readable(b"<title>" + b"t" * 5000 + b"</title>", media_type="text/html")
    assert len(page.title) == limits.MAX_PAGE_TITLE_CHARACTERS


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 50_000 + "deep",
        "<b><ul><li>" * 20_000,
        "<table><tr><td>" * 5_000,
        "<" * 500_000,
        "<!--" * 100_000,
    ],
)
def test_hostile_nesting_neither_crashes_nor_hangs(html: str) -> None:
    make_readable(html.encode(), media_type="text/html")


@given(
    st.binary(max_size=300),
    st.sampled_from(
        [None, "utf-8", "utf-16", "utf-7", "shift_jis", "\0", "idna", "punycode", "unicode_escape", "x"]
    ),
)
def test_any_bytes_can_be_decoded(body: bytes, charset: str | None) -> None:
    assert isinstance(decode_text(body, charset), str)
    with contextlib.suppress(UnreadablePage):  # an archive, say, that calls itself HTML
        assert isinstance(make_readable(body, media_type="text/html", charset=charset).text, str)
