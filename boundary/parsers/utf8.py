"""Decode the UTF-8 text that callers pass to a parser."""

from __future__ import annotations

from boundary.errors import UnreadableContent


def decode_text(body: bytes) -> str:
    """Return the text, keeping lone surrogates; raise UnreadableContent if it is not UTF-8."""
    try:
        return body.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise UnreadableContent(
            f"The text is not valid UTF-8: {error.reason} at byte {error.start}."
        ) from None
