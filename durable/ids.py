"""Identifiers: version 7 UUIDs, which sort by creation time and cannot be guessed."""

from __future__ import annotations

import os
import time
import uuid


def new_id() -> uuid.UUID:
    """Return a new UUIDv7: 48 bits of milliseconds, 74 random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)
