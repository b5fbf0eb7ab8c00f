"""Limits on time, size and count that all doors share."""

from __future__ import annotations

MAX_LISTED_AGENTS = 500
MAX_SLUG_CHARACTERS = 60  # of the name that programs call an agent by
