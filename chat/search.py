"""Search in a person's conversations: titles, what they wrote and what was answered, with the words around a hit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from chat import limits
from chat.models import Message, Session, Step
from chat.sessions import Owner


@dataclass(frozen=True, kw_only=True)
class MessageHit:
    """A place where the words occur: a message, or the title of a conversation."""

    session: Session
    message_id: uuid.UUID | None
    role: str
    snippet: str
    at: datetime


def search(owner: Owner, words: str) -> list[MessageHit]:
    """Return the newest hits, those in titles first; one for each message."""
    own = owner.sessions().filter(expires_at=None)
    titles = own.filter(title__icontains=words).order_by("-active_at")[: limits.MAX_SEARCH_HITS]
    hits = [
        MessageHit(session=row, message_id=None, role="", snippet=row.title, at=row.active_at)
        for row in titles
    ]
    in_messages = {hit.message_id: hit for hit in (*in_answers(own, words), *in_texts(own, words))}
    found = sorted(in_messages.values(), key=lambda hit: hit.at, reverse=True)
    return (hits + found)[: limits.MAX_SEARCH_HITS]


def in_texts(sessions: Iterable[Session], words: str) -> Iterator[MessageHit]:
    rows = Message.objects.filter(Message.is_in_history(), session__in=sessions, text__icontains=words)
    for row in rows.select_related("session").order_by("-created_at")[: limits.MAX_SEARCH_HITS]:
        yield MessageHit(
            session=row.session,
            message_id=row.pk,
            role=row.role,
            snippet=snippet_of(row.text, words),
            at=row.created_at,
        )


def in_answers(sessions: Iterable[Session], words: str) -> Iterator[MessageHit]:
    """Yield hits in the text of answers; what only their tool calls contain is not shown."""
    as_stored = json.dumps(words)[1:-1]  # SQLite keeps JSON with escapes, PostgreSQL without
    steps = Step.objects.annotate(raw=Cast("parts", TextField())).filter(
        Q(raw__icontains=words) | Q(raw__icontains=as_stored),
        turn__session__in=sessions,
        turn__superseded_at=None,
    )
    seen: set[uuid.UUID] = set()
    for step in steps.select_related("turn__session").order_by("-created_at")[: limits.MAX_SEARCH_HITS]:
        turn = step.turn
        if turn.pk in seen or words.lower() not in step.text.lower():
            continue
        seen.add(turn.pk)
        yield MessageHit(
            session=turn.session,
            message_id=turn.answer_id,
            role=Message.Role.ASSISTANT,
            snippet=snippet_of(step.text, words),
            at=step.created_at,
        )


def snippet_of(text: str, words: str) -> str:
    """Return the text around the first hit as one line; an ellipsis marks what was cut."""
    place = max(text.lower().find(words.lower()), 0)
    start = max(place - limits.SNIPPET_CHARACTERS // 3, 0)
    end = start + limits.SNIPPET_CHARACTERS
    cut = " ".join(text[start:end].split())
    return ("…" if start else "") + cut + ("…" if end < len(text) else "")
