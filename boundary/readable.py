"""A fetched page as text a model can read: Markdown from HTML, the text itself otherwise.

html-to-markdown was chosen by measurement on a 3.7 MB page: 0.6 s, against 1.6 s for inscriptis and 7.7 s for
markdownify (which also overflows the stack on deep nesting); html2text is GPL and trafilatura brings 40 MB along.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from boundary.errors import UnreadablePage
from durable import limits

if TYPE_CHECKING:
    from html_to_markdown import ConversionOptions, ConversionResult

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
# As the WHATWG encoding standard has it: these labels mean the wider Windows code page.
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
TITLE_CHARACTERS = 200_000
DETECTION_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class ReadablePage:
    """What is left of a page when only its text matters."""

    title: str
    text: str
    cut: bool  # the text was longer than allowed


def make_readable(body: bytes, *, media_type: str, charset: str | None = None, url: str = "") -> ReadablePage:
    """Turn an answer's body into text; raises UnreadablePage for pictures, archives and the like."""
    if media_type in HTML_TYPES or (media_type in UNTYPED and LOOKS_LIKE_HTML.match(body[:HEAD_BYTES])):
        return from_html(decode_text(body, charset), url)
    if not TEXT_TYPES.fullmatch(media_type) and not (media_type in UNTYPED and is_text(body)):
        raise UnreadablePage(f"Content of the type {media_type or 'unknown'} cannot be shown as text.")
    return limited(title="", text=decode_text(body, charset))


def decode_text(body: bytes, charset: str | None) -> str:
    """Bytes as text: by byte order mark, by the server's word, by the page's, else by looking. Never fails."""
    for mark, name in BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body.removeprefix(mark).decode(name, "replace")
    declared = charset or declared_charset(body)
    if codec := find_codec(declared):
        return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        import charset_normalizer  # few pages need the guess

        best = charset_normalizer.from_bytes(body[:DETECTION_BYTES]).best()
        return body.decode(best.encoding if best else "cp1252", "replace")


def declared_charset(body: bytes) -> str | None:
    found = META_CHARSET.search(body[:HEAD_BYTES])
    return found[1].decode("ascii") if found else None


def find_codec(name: str | None) -> str | None:
    """Python's codec for a charset label, or None when there is none that turns bytes into text."""
    if not name or "\0" in name:
        return None
    try:
        codec = codecs.lookup(name)
    except LookupError:
        return None
    if (
        not codec._is_text_encoding or codec.name in NOT_CHARSETS
    ):  # also "base64", "zip": codecs, not charsets
        return None
    return WIDER.get(codec.name, codec.name)


def is_text(body: bytes) -> bool:
    head = body[:HEAD_BYTES]
    return b"\0" not in head and sum(byte < 9 or 13 < byte < 32 for byte in head) <= len(head) // 100


def from_html(html: str, url: str) -> ReadablePage:
    """The page's main content as Markdown, with links made absolute; menus, forms and hidden text are left out."""
    from html_to_markdown import ConversionOptions, PreprocessingOptions  # takes time to load

    html = html.replace("\0", "\ufffd")
    head = run(html[:TITLE_CHARACTERS], ConversionOptions(extract_metadata=True))
    title = head.metadata.document.title if head.metadata else ""
    options = ConversionOptions(
        extract_metadata=False,
        base_url=url or None,
        inline_data_media="alt_text_only",
        autolinks=False,
        preprocessing=PreprocessingOptions(preset="aggressive"),
        exclude_selectors=["footer"],
    )
    return limited(title=title or "", text=run(html, options).content or "")


def run(html: str, options: ConversionOptions) -> ConversionResult:
    from html_to_markdown import ConversionError, convert

    try:
        return convert(html, options)
    except ConversionError as error:
        raise UnreadablePage("The page's HTML cannot be read.") from error


def limited(*, title: str, text: str) -> ReadablePage:
    title = " ".join(title.split())[: limits.MAX_PAGE_TITLE_CHARACTERS]
    text = text.strip()
    cut = len(text) > limits.MAX_PAGE_CHARACTERS
    return ReadablePage(title=title, text=text[: limits.MAX_PAGE_CHARACTERS], cut=cut)
