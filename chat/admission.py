"""Which queued turns may start: one at a time per session, so many per user, in the order they came."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import User
from chat.models import Session, Turn, TurnWait


def may_start(turn_id: uuid.UUID) -> bool:
    """Return whether a turn heads its session's queue and its user has room. Locks the session and the user.

    The session is locked before the turn, as when an input is written; the other order could deadlock.
    """
    needed = ("status", "user_id", "session__user_id", "session__visitor_id")
    locked = Turn.objects.select_related("session").select_for_update(of=("session",), no_key=True)
    turn = locked.only(*needed).filter(pk=turn_id).first()
    if turn is None:
        return False  # removed from the queue meanwhile
    if turn.status != Turn.QUEUED:
        return True
    if turn.user_id and connection.features.has_select_for_update:
        User.objects.select_for_update(no_key=True).only("pk").get(pk=turn.user_id)
    return turn_id in next_up(turn.session)


def lock_session_of(turn_id: uuid.UUID) -> None:
    """Lock the session of a turn, as a claim does before it locks the turn."""
    session = Session.objects.select_for_update(of=("self",), no_key=True).filter(turns=turn_id)
    session.values_list("pk", flat=True).first()


def next_up(session: Session) -> list[uuid.UUID]:
    """Return the queued turns of the session's owner that may start now, in the order they came."""
    live = turns_of_owner(session).filter(status__in=Turn.LIVE).order_by("-priority", "queued_at", "id")
    rows = list(live.values_list("pk", "session_id", "status", is_waiting()))
    busy = {session_id for _, session_id, status, _ in rows if status in Turn.ACTIVE}
    room = settings.COPILOT_MAX_RUNNING_TURNS_PER_USER - sum(
        status == Turn.RUNNING and not waits for _, _, status, waits in rows
    )
    heads = []
    for pk, session_id, status, _ in rows:
        if status == Turn.QUEUED and session_id not in busy:
            heads.append(pk)
            busy.add(session_id)
    return heads[: max(room, 0)]


def turns_of_owner(session: Session) -> QuerySet[Turn]:
    """Return all turns of the user or visitor that owns the session."""
    if session.user_id:
        return Turn.objects.filter(user_id=session.user_id)
    return Turn.objects.filter(session__visitor_id=session.visitor_id, user=None)


def startable(queued: QuerySet[Any]) -> QuerySet[Any]:
    """Leave out turns behind another one of their session, and those of users without room."""
    same_session = Turn.live().filter(session=OuterRef("session")).exclude(pk=OuterRef("pk"))
    earlier = Q(priority=OuterRef("priority"), queued_at__lt=OuterRef("queued_at"))
    goes_first = Q(status=Turn.QUEUED) & (Q(priority__gt=OuterRef("priority")) | earlier)
    ahead = Q(status__in=Turn.ACTIVE) | goes_first
    running = Turn.live().filter(~is_waiting(), user=OuterRef("user"), status=Turn.RUNNING)
    count = Subquery(running.order_by().values("user").annotate(n=Count("pk")).values("n"))
    counted: QuerySet[Any] = queued.annotate(running_of_user=Coalesce(count, 0))
    return counted.filter(
        ~Exists(same_session.filter(ahead)), running_of_user__lt=settings.COPILOT_MAX_RUNNING_TURNS_PER_USER
    )


def is_waiting() -> Exists:
    """Return the condition for turns that wait for other work and so leave their slot to others."""
    return Exists(TurnWait.objects.filter(turn=OuterRef("pk")))
