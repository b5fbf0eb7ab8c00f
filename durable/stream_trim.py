"""Remove entries of a Redis stream that its consumer groups have acknowledged."""

from __future__ import annotations

from typing import Any

from durable import limits
from durable.redis import bytes_client

EntryId = tuple[int, int]  # milliseconds and a sequence number, as Redis orders them


def trim_stream(stream: str, group: str) -> int:
    """Remove what every group has acknowledged; return the number of removed entries.

    The slowest group decides. An abandoned group would let the stream grow, so what `group` has acknowledged is removed
    after CONSUMER_KEEP_SECONDS in any case. What `group` itself has not acknowledged always stays.
    """
    needed = {text(row["name"]): first_needed(stream, row) for row in bytes_client().xinfo_groups(stream)}
    if group not in needed:
        return 0
    first = max(min(needed.values()), min(needed[group], old_enough()))
    removed: int = bytes_client().xtrim(stream, minid=f"{first[0]}-{first[1]}", approximate=False)
    return removed


def first_needed(stream: str, group: dict[str, Any]) -> EntryId:
    """Return the oldest entry the group has not acknowledged, or the position of its next one."""
    if group["pending"]:
        oldest = bytes_client().xpending(stream, group["name"])["min"]
        if oldest is not None:  # acknowledged since, otherwise
            return parse(oldest)
    milliseconds, number = parse(group["last-delivered-id"])
    return milliseconds, number + 1


def old_enough() -> EntryId:
    seconds, microseconds = bytes_client().time()
    return int((seconds - limits.CONSUMER_KEEP_SECONDS) * 1000 + microseconds // 1000), 0


def parse(entry_id: bytes | str) -> EntryId:
    milliseconds, _, number = text(entry_id).partition("-")
    return int(milliseconds), int(number)


def text(raw: bytes | str) -> str:
    return raw if isinstance(raw, str) else raw.decode()
