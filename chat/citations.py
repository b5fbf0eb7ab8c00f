"""What an answer rests on and leaves behind: the web pages its tools read or found, the files they made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

from django.contrib.auth.models import AbstractBaseUser

from chat import limits
from durable import storable
from workspace.models import WorkspaceFile
from workspace.references import parse_references

ERROR_STATUS = 400


def add_sources(known: list[dict[str, str]], results: Iterable[Any]) -> list[dict[str, str]]:
    """Return the known sources and those of more tool results, each address once, numbered from 1."""
    found = {source["url"]: source for source in known}
    for url, title in (source for result in results for source in sources_in(result)):
        if url not in found and len(found) < limits.MAX_SOURCES_PER_TURN and is_web_address(url):
            found[url] = {"id": str(len(found) + 1), "url": url, "title": title}
    return list(found.values())


def sources_in(result: Any) -> Iterator[tuple[str, str]]:
    """Yield address and title of the pages in one result: of web_fetch, web_search, or anything with `sources`."""
    if not isinstance(result, dict):
        return
    if result.get("type") == "web_fetch" and as_status(result.get("status_code")) < ERROR_STATUS:
        yield from source_of(result)
    for field in ("sources", "results"):
        listed = result.get(field) if field == "sources" or result.get("type") == "web_search" else None
        for item in listed if isinstance(listed, list) else ():
            yield from source_of(item)


def source_of(item: Any) -> Iterator[tuple[str, str]]:
    if isinstance(item, dict) and isinstance(url := item.get("url"), str):
        title = item.get("title")
        yield (
            url,
            storable.text(title if isinstance(title, str) else "", most=limits.MAX_SOURCE_TITLE_CHARACTERS),
        )


def as_status(value: Any) -> int:
    return value if isinstance(value, int) else 0


def is_web_address(url: str) -> bool:
    """Return whether a browser may open it as a page; anything else, such as javascript:, is no source."""
    if len(url) > limits.MAX_SOURCE_URL_CHARACTERS or not storable.is_text(url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def add_files_made(
    known: list[dict[str, str]],
    results: Iterable[Any],
    *,
    user: AbstractBaseUser | None,
    since: datetime | None,
) -> list[dict[str, str]]:
    """Return the known files and those that results refer to and that were made since the turn started."""
    ids = parse_references(list(results)) if user is not None and since is not None else []
    if not ids:
        return known
    rows = WorkspaceFile.objects.filter(user_id=user.pk, pk__in=ids, created_at__gte=since)  # type: ignore[union-attr]
    made = {row.pk: row for row in rows}
    found = {file["url"]: file for file in known}
    for row in (made[file_id] for file_id in ids if file_id in made):
        url = f"/api/files/{row.pk}/content#{quote(row.name)}"
        if len(found) < limits.MAX_FILES_MADE_PER_TURN:
            found.setdefault(url, {"url": url, "media_type": row.media_type})
    return list(found.values())
