"""Checks on the lists and texts that blocks read and build."""

from __future__ import annotations

from collections.abc import Sequence

from blocks import limits
from blocks.errors import BlockFailed
from blocks.schema import JSON


def check_lists(members: Sequence[JSON]) -> list[list[JSON]]:
    """Return the members without nulls; raise BlockFailed for a member that is not a list."""
    for index, member in enumerate(members):
        if member is not None and not isinstance(member, list):
            raise BlockFailed(f"Entry {index} of `lists` is not a list. Wrap it as [value].")
    return [member for member in members if member is not None]


def check_length(characters: int) -> None:
    """Raise BlockFailed if a text would be too long; called before the text is built."""
    if characters > limits.MAX_BLOCK_TEXT_CHARACTERS:
        allowed = limits.MAX_BLOCK_TEXT_CHARACTERS
        raise BlockFailed(f"The text would have {characters} characters; the limit is {allowed}.")


def check_size(count: int) -> None:
    """Raise BlockFailed if a list would be too long; called before the list is built."""
    if count > limits.MAX_BLOCK_LIST_ITEMS:
        raise BlockFailed(f"The list would have {count} entries; the limit is {limits.MAX_BLOCK_LIST_ITEMS}.")


def check_index(index: int, length: int) -> int:
    """Return the index counted from the start; raise BlockFailed if it is out of range."""
    if not -length <= index < length:
        raise BlockFailed(f"The index {index} is out of range for a list of length {length}.")
    return index % length
