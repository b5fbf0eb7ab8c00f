"""Texts: size limits, and the text form of any value."""

from __future__ import annotations

from durable import limits
from executions.blocks.coercion import to_json_text
from executions.blocks.errors import BlockFailed
from executions.blocks.schema import JSON


def check_length(characters: int) -> None:
    """Refuse a text that would be too long before it is made."""
    if characters > limits.MAX_BLOCK_TEXT_CHARACTERS:
        allowed = limits.MAX_BLOCK_TEXT_CHARACTERS
        raise BlockFailed(f"The text would have {characters} characters; at most {allowed} are made.")


def as_text(value: JSON) -> str:
    """Text as it is, everything else as JSON."""
    return value if isinstance(value, str) else to_json_text(value)
