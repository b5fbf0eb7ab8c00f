"""Notifications about turns and sessions: frames for a person's devices, webhooks for other systems."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings

from chat import limits, turn_log
from chat.models import Session, Turn
from durable import client_push
from durable.database import after_commit
from tools.models import ToolCall
from webhooks import notices
from webhooks.deliveries import announce
from webhooks.events import EventType, NoticeKind
from webhooks.notices import NoticeText

ASKING_RESULTS = (  # types of tool results that ask the person something
    "clarification_needed",
    "review_required",
    "setup_requirements",
    "suggested_goal",
    "task_decomposition",
)


def turn_changed(turn: Turn) -> None:
    """Tell the owner's devices, after the commit, that a turn was queued, started or ended."""
    if turn.session.expires_at is not None:
        return  # a hidden session is on no device
    kind = "finished" if turn.is_terminal else ("queued" if turn.status == turn.QUEUED else "running")
    after_commit(
        client_push.push,
        turn.session.owner,
        f"turn.{kind}",
        session_id=str(turn.session_id),
        turn_id=str(turn.pk),
        status=turn.status,
        end_reason=turn.end_reason,
        news=turn.is_terminal and is_news(turn),
        title=turn.session.title,
    )


def session_changed(session: Session, *, deleted: bool = False) -> None:
    """Tell the owner's devices, after the commit, that a session was created, changed or deleted."""
    if session.expires_at is not None:
        return
    after_commit(
        client_push.push,
        session.owner,
        "session.updated",
        session_id=str(session.pk),
        title=session.title,
        deleted=deleted,
    )


def announce_end(turn: Turn) -> None:
    """Queue the webhook `turn.finished`, once per turn and endpoint, and a push for a person who is away.

    Inside the transaction that ends the turn.
    """
    user = turn.session.user
    if user is not None and user.has_push and is_news(turn):
        notices.announce(user=user, subject="turn", subject_id=turn.pk, describe=partial(notice_of, turn))
    announce(
        user_id=turn.user_id,
        event_type=EventType.TURN_FINISHED,
        subject_id=turn.pk,
        describe=partial(describe, turn),
    )


def is_news(turn: Turn) -> bool:
    """Return whether its person should hear that it ended: not of what they stopped, or what nobody waits for."""
    is_own = turn.session.depth == 0 and turn.session.expires_at is None and turn.execution_id is None
    return is_own and turn.status != Turn.CANCELLED and turn.absorbed_by_id is None


def notice_of(turn: Turn) -> NoticeText:
    """Return what is told of an ended turn: that its answer is ready, or that it asks something."""
    asks = ToolCall.objects.filter(turn_id=turn.pk, result__type__in=ASKING_RESULTS).exists()
    kind = NoticeKind.QUESTION if asks else NoticeKind.ANSWER
    return NoticeText(kind=kind, subject=turn.session.title, url=f"/c/{turn.session_id}")


def describe(turn: Turn) -> dict[str, Any]:
    """Return the payload of `turn.finished`; `absorbed_by` names the turn that answers a steering message."""
    text = turn_log.answer_text(turn)
    return {
        **turn_log.final_metadata(turn),
        "kind": turn.kind,
        "client_id": turn.client_id,
        "absorbed_by": str(turn.absorbed_by_id) if turn.absorbed_by_id else None,
        "error": turn.error or None,
        "text": text[: limits.MAX_WEBHOOK_TEXT_CHARACTERS],
        "text_characters": len(text),
        "ended_at": turn.ended_at.isoformat() if turn.ended_at else None,
        "url": f"{settings.SITE_URL}/api/turns/{turn.pk}",
    }
