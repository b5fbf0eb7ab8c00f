"""Turn a fetched page into text that a model can read: HTML becomes Markdown, other text stays as it is."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from boundary import limits
from boundary.errors import ParserError, UnreadableContent, UnreadablePage
from boundary.parser_process import parse_isolated

HTML_PARSER, CHARSET_PARSER = "boundary.parsers.html", "boundary.parsers.charset"
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = re.compile(r"text/.+|application/(json|xml|javascript|yaml|toml|x-ndjson|.+\+(json|xml|yaml))")
UNTYPED = frozenset({"", "application/octet-stream", "text/plain"})
LOOKS_LIKE_HTML = re.compile(rb"\s*(<!doctype\s+html|<html[\s>])", re.IGNORECASE)
META_CHARSET = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE)
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# By the WHATWG encoding standard these labels mean the wider Windows code page.
WIDER = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
}
NOT_CHARSETS = frozenset(
    {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "mbcs", "oem"}
)
HEAD_BYTES = 4 * 1024
DETECTION_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class ReadablePage:
    """The title and text of a page."""

    title: str
    text: str
    cut: bool  # the text was truncated


def make_readable(body: bytes, *, media_type: str, charset: str | None = None, url: str = "") -> ReadablePage:
    """Turn a response body into text; raise UnreadablePage for images, archives and the like, or ParserError."""
    if media_type in HTML_TYPES or (media_type in UNTYPED and LOOKS_LIKE_HTML.match(body[:HEAD_BYTES])):
        return from_html(decode_text(body, charset), url)
    if not TEXT_TYPES.fullmatch(media_type) and not (media_type in UNTYPED and is_text(body)):
        raise UnreadablePage(f"Content of type {media_type or 'unknown'} cannot be shown as text.")
    return limited(title="", text=decode_text(body, charset))


def decode_text(body: bytes, charset: str | None) -> str:
    """Decode by byte order mark, by the declared charset, else by detection. Never fails."""
    for mark, name in BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body.removeprefix(mark).decode(name, "replace")
    declared = charset or declared_charset(body)
    if codec := find_codec(declared):
        return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode(guess_charset(body[:DETECTION_BYTES]) or "cp1252", "replace")


def guess_charset(sample: bytes) -> str | None:
    """Detect the charset; return None if that fails or takes too long."""
    try:
        found = parse_isolated(CHARSET_PARSER, sample)
    except ParserError:
        return None
    return find_codec(found)


def declared_charset(body: bytes) -> str | None:
    found = META_CHARSET.search(body[:HEAD_BYTES])
    return found[1].decode("ascii") if found else None


def find_codec(name: str | None) -> str | None:
    """Return Python's text codec for a charset label, or None."""
    if not name or "\0" in name:
        return None
    try:
        codec = codecs.lookup(name)
    except LookupError:
        return None
    if not codec._is_text_encoding or codec.name in NOT_CHARSETS:  # "base64" and "zip" are not charsets
        return None
    return WIDER.get(codec.name, codec.name)


def is_text(body: bytes) -> bool:
    head = body[:HEAD_BYTES]
    return b"\0" not in head and sum(byte < 9 or 13 < byte < 32 for byte in head) <= len(head) // 100


def from_html(html: str, url: str) -> ReadablePage:
    """Convert the main content to Markdown; raise UnreadablePage or ParserError."""
    arguments = {
        "url": url,
        "max_depth": limits.MAX_PAGE_DEPTH,
        "max_characters": limits.MAX_PAGE_CHARACTERS + 1,
    }
    try:
        found = parse_isolated(HTML_PARSER, html.encode("utf-8", "replace"), arguments)
    except UnreadableContent as error:
        raise UnreadablePage(str(error)) from error
    return limited(title=found["title"], text=found["text"])


def limited(*, title: str, text: str) -> ReadablePage:
    title = " ".join(title.split())[: limits.MAX_PAGE_TITLE_CHARACTERS]
    text = text.strip()
    cut = len(text) > limits.MAX_PAGE_CHARACTERS
    return ReadablePage(title=title, text=text[: limits.MAX_PAGE_CHARACTERS], cut=cut)
