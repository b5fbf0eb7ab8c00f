"""Parse the Range header."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workspace.errors import BadRange

ONE_RANGE = re.compile(
    r"bytes\s*+=\s*+(?P<first>[0-9]{0,18}+)\s*+-\s*+(?P<last>[0-9]{0,18}+)", re.IGNORECASE | re.ASCII
)


@dataclass(frozen=True, kw_only=True)
class ByteRange:
    """The bytes from `start` up to but excluding `end`."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


def parse_range(header: str, size: int) -> ByteRange | None:
    """Return the range; None for the whole (no header, several ranges, another unit). Raises BadRange."""
    match = ONE_RANGE.fullmatch(header.strip())
    if match is None or (not match["first"] and not match["last"]):
        return None
    if not match["first"]:
        start, end = max(0, size - int(match["last"])), size
    else:
        start = int(match["first"])
        end = min(int(match["last"]) + 1, size) if match["last"] else size
        if match["last"] and int(match["last"]) < start:
            return None  # not a valid range, which HTTP says to ignore
    if start >= size or end <= start:
        raise BadRange
    return ByteRange(start=start, end=end)
