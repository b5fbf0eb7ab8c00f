"""Identifiers: version 7 UUIDs, which sort by creation time and cannot be guessed."""

from __future__ import annotations

import os
import time
import uuid


def new_id() -> uuid.UUID:
    """Return a new UUIDv7: 48 bits of milliseconds, 12 of their fraction, 62 random bits.

    The fraction keeps rows in order that were made in the same millisecond.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = (rest << 12) // 1_000_000
    noise = int.from_bytes(os.urandom(8), "big") >> 2
    return uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | noise)
