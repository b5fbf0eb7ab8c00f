"""Which conversations have content from outside before the model.

The mark lives as long as the content does: a turn keeps what it read, its session keeps it for all later turns, also
when the older part has become a summary. It goes only when the turns that read it are answered anew.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from boundary import taint
from chat.models import Message, Session, Turn
from chat.sub_sessions import names


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


def reckon(session: Session) -> None:
    """Count anew after turns left the history; what went into the summary stays. Inside a transaction."""
    if session.summary or not session.outside_sources:
        return
    standing = session.turns.filter(superseded_at=None).values_list("outside_sources", flat=True)
    merged = list(taint.merge(*standing))
    Session.objects.filter(pk=session.pk).update(outside_sources=merged)
    session.outside_sources = merged


def refresh(session: Session) -> None:
    """Take in what came back to the session while its turn ran: the result of a sub-session or an operation."""
    rows = Session.objects.filter(pk=session.pk)
    session.outside_sources = (
        rows.values_list("outside_sources", flat=True).first() or session.outside_sources
    )


def of_page(context: dict[str, Any] | None) -> taint.Sources:
    """The source of the page a person was looking at when they wrote."""
    if not context or not context.get("content"):
        return ()
    return taint.merge([taint.source_of(str(context.get("url") or "")) or "the page that was open"])


def said_in(session: Session) -> list[str]:
    """What the person wrote in a session; tasks, in a sub-session or from an agent, were not written by them."""
    if session.depth:
        return []
    rows = Message.objects.filter(session=session.pk, role=Message.Role.USER, turn__superseded_at=None)
    rows = rows.exclude(turn__client_id__startswith=names.TASK)
    said = []
    for text, context in rows.exclude(seq=None).values_list("text", "context"):
        said += [text, *(str(value) for value in (context or {}).values())]
    return said
