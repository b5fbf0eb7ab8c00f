"""RSS and Atom feeds as plain entries."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import feedparser  # type: ignore[import-untyped]


def parse(body: bytes, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries in the feed's order; `date` is a UTC time tuple or None."""
    # As a stream: feedparser would open the file or the URL that bare bytes or text name.
    return [read_entry(raw) for raw in feedparser.parse(io.BytesIO(body)).entries]


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
