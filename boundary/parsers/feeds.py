"""Parse RSS and Atom feeds into plain entries."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import feedparser  # type: ignore[import-untyped]

from boundary.errors import UnreadableContent


def parse(body: bytes, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries in feed order; `date` is a UTC time tuple or None. Raises UnreadableContent."""
    try:
        # Passed as a stream: feedparser would open a file or URL named by bytes or text.
        found = feedparser.parse(io.BytesIO(body)).entries
    except (ValueError, LookupError) as error:  # such as an encoding whose name is no text
        raise UnreadableContent(f"The feed cannot be read ({type(error).__name__}).") from None
    return [read_entry(raw) for raw in found]


def read_entry(raw: Any) -> dict[str, Any]:
    date = raw.get("published_parsed") or raw.get("updated_parsed")
    return {
        "title": str(raw.get("title", "")),
        "link": str(raw.get("link", "")),
        "description": str(raw.get("summary", raw.get("description", ""))),
        "date": date and list(date),
        "author": str(raw.get("author", "")),
        "categories": [str(tag.get("term")) for tag in raw.get("tags", []) if tag.get("term")],
    }
