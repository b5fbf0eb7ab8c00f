"""Detect media types by content; the name only decides between types with similar content."""

from __future__ import annotations

import mimetypes
import re

HEAD_BYTES = 8 * 1024
UNKNOWN = "application/octet-stream"
ZIP = "application/zip"
HTML_TAG = (
    rb"<(?:!doctype\s+html|html|head|body|script|iframe|h1|div|font|table|a|style|title|b|br|p|img|svg)[\s/>]"
)
HTML = re.compile(rb"\s*" + HTML_TAG, re.IGNORECASE)
COMMENT = re.compile(rb"\s*<!--")
HTML_AFTER_COMMENT = re.compile(rb"-->\s*" + HTML_TAG, re.IGNORECASE)
SVG = re.compile(rb"<svg[\s>]", re.IGNORECASE)
XML = re.compile(rb"\s*<\?xml\s", re.IGNORECASE)
# Text types that a name may select for text content; browsers run none of them.
TEXT_BY_NAME = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "md": "text/markdown",
    "json": "application/json",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "ics": "text/calendar",
    "vcf": "text/vcard",
}


def detect(head: bytes, name: str) -> str:
    """Return the media type of content that starts with `head`, its first HEAD_BYTES."""
    if is_text(head):
        return text_kind(head, name)
    import puremagic  # reads its tables on import

    try:
        found = [match.mime_type for match in puremagic.magic_string(head) if match.mime_type]
    except (puremagic.PureError, ValueError):  # ValueError: empty
        found = []
    if head.startswith(b"PK\x03\x04"):
        found.insert(0, ZIP)  # Office and EPUB files start like this too
    claimed = mimetypes.guess_type(name)[0]
    if claimed and claimed in found and not claimed.startswith("text/"):
        return claimed
    binary = [kind for kind in found if not kind.startswith("text/") and "svg" not in kind]
    return binary[0] if binary else UNKNOWN


def is_text(head: bytes) -> bool:
    """Return whether it is UTF-8 text, the last character possibly cut, without control characters."""
    if b"\0" in head:
        return False
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3 or len(head) < HEAD_BYTES:
            return False
        text = head[: error.start].decode("utf-8")
    return not any(ord(character) < 32 and character not in "\t\n\r\f\x1b" for character in text)


def text_kind(head: bytes, name: str) -> str:
    if SVG.search(head):
        return "image/svg+xml"
    if is_html(head.removeprefix(b"\xef\xbb\xbf")):
        return "text/html"
    if XML.match(head):
        return "application/xml"
    if head.startswith(b"%PDF-"):
        return "application/pdf"
    return TEXT_BY_NAME.get(name.rpartition(".")[2].lower(), "text/plain")


def is_html(head: bytes) -> bool:
    """Return whether it starts with an HTML tag, or with a comment and has such a tag after a comment.

    Three linear searches: a single pattern would try all pairs of comment starts and ends.
    """
    if HTML.match(head):
        return True
    comment = COMMENT.match(head)
    return comment is not None and HTML_AFTER_COMMENT.search(head, comment.end()) is not None
