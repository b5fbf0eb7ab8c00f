"""The charset of text that does not declare one, found by looking at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import charset_normalizer


def parse(body: bytes, arguments: Mapping[str, Any]) -> str | None:
    """Return Python's name of the most likely charset, or None."""
    best = charset_normalizer.from_bytes(body).best()
    return best.encoding if best else None
