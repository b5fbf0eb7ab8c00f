"""Detect the charset of text that does not declare one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import charset_normalizer


def parse(body: bytes, arguments: Mapping[str, Any]) -> str | None:
    """Return Python's name for the most likely charset, or None."""
    best = charset_normalizer.from_bytes(body).best()
    return best.encoding if best else None
