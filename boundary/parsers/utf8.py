"""Text that callers hand to a parser as UTF-8."""

from __future__ import annotations

from boundary.parsers.errors import UnreadableContent


def decode_text(body: bytes) -> str:
    """Return the text, lone surrogates kept; raises UnreadableContent for what is not UTF-8."""
    try:
        return body.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise UnreadableContent(f"The text is not UTF-8: {error.reason} at byte {error.start}.") from None
