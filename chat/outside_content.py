"""Content from outside: which sessions and turns have shown it to the model, what an answer cites of it.

A mark lasts as long as the content: a turn keeps the sources it read, its session keeps them for all later turns, even
when the older part has become a summary. It is removed only when the turns that read the content are regenerated.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from boundary import taint
from chat import limits
from chat.models import Message, Session, Turn
from chat.sub_sessions import names
from durable import storable

ERROR_STATUS = 400


def mark(session_id: uuid.UUID, sources: Iterable[str], *, turn_id: uuid.UUID | None = None) -> taint.Sources:
    """Add sources to a session, and to the turn that read them. Inside a transaction; locks the session's row."""
    rows = Session.objects.select_for_update(no_key=True).filter(pk=session_id)
    known = rows.values_list("outside_sources", flat=True).first()
    merged = taint.merge(known or (), sources)
    if known is not None and list(merged) != known:
        Session.objects.filter(pk=session_id).update(outside_sources=list(merged))
    if turn_id is not None:
        turns = Turn.objects.filter(pk=turn_id)
        own = turns.values_list("outside_sources", flat=True).first()
        turns.update(outside_sources=list(taint.merge(own or (), sources)))
    return merged


def recompute(session: Session) -> None:
    """Recompute the session's sources after turns left or rejoined the history; a summary keeps those it has.

    Inside a transaction.
    """
    standing = session.turns.filter(superseded_at=None).values_list("outside_sources", flat=True)
    kept = session.outside_sources if session.summary else []
    merged = list(taint.merge(kept, *standing))
    if merged == session.outside_sources:
        return
    Session.objects.filter(pk=session.pk).update(outside_sources=merged)
    session.outside_sources = merged


def refresh(session: Session) -> None:
    """Reload the sources: the result of a sub-session or an operation may have added some while the turn ran."""
    rows = Session.objects.filter(pk=session.pk)
    session.outside_sources = (
        rows.values_list("outside_sources", flat=True).first() or session.outside_sources
    )


def of_page(context: dict[str, Any] | None) -> taint.Sources:
    """Return the source of the page that was sent with a message."""
    if not context or not context.get("content"):
        return ()
    return taint.merge([taint.source_of(str(context.get("url") or "")) or "the page that was open"])


def texts_of_person(session: Session) -> list[str]:
    """Return the texts the person wrote in a session; tasks of sub-sessions and agents do not count."""
    if session.depth:
        return []
    rows = Message.objects.filter(Message.is_in_history(), session=session.pk, role=Message.Role.USER)
    rows = rows.exclude(turn__client_id__startswith=names.TASK)
    texts = []
    for text, context in rows.values_list("text", "context"):
        texts += [text, *(str(value) for value in (context or {}).values())]
    return texts


# --- sources of an answer -------------------------------------------------------------------------


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
