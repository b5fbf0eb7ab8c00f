"""What a parser raises."""

from __future__ import annotations


class UnreadableContent(Exception):
    """The content is not what it should be; the text says why."""
