"""Lists of lists: what the blocks that join them check first."""

from __future__ import annotations

from collections.abc import Sequence

from durable import limits
from executions.blocks.errors import BlockFailed
from executions.blocks.schema import JSON


def check_lists(members: Sequence[JSON]) -> list[list[JSON]]:
    """The members without nulls; raises BlockFailed and names the first that is no list."""
    for index, member in enumerate(members):
        if member is not None and not isinstance(member, list):
            raise BlockFailed(f"Entry {index} of `lists` is no list. Wrap it as [value].")
    return [member for member in members if member is not None]


def check_size(count: int) -> None:
    """Refuse a result that would be too long before it is made."""
    if count > limits.MAX_BLOCK_LIST_ITEMS:
        raise BlockFailed(
            f"The result would have {count} entries; at most {limits.MAX_BLOCK_LIST_ITEMS} are made."
        )


def check_index(index: int, length: int) -> int:
    """The index counted from the start; raises BlockFailed out of range."""
    if not -length <= index < length:
        raise BlockFailed(f"The index {index} is outside the list, which has {length} entries.")
    return index % length
