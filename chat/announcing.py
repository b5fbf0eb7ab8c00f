"""What those outside who asked for it are told of a turn that ended."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings

from chat import closing
from durable import limits
from webhooks.announcing import announce
from webhooks.events import EventType

if TYPE_CHECKING:
    from chat.models import Turn


def announce_end(turn: Turn) -> None:
    """Inside the transaction that ends the turn. Once per turn and endpoint."""
    announce(
        user_id=turn.user_id,
        event_type=EventType.TURN_FINISHED,
        subject_id=turn.pk,
        describe=partial(describe, turn),
    )


def describe(turn: Turn) -> dict[str, Any]:
    """An input that became part of another turn names that one, where its answer is."""
    text = closing.answer_text(turn)
    return {
        **closing.final_metadata(turn),
        "kind": turn.kind,
        "client_id": turn.client_id,
        "absorbed_by": str(turn.absorbed_by_id) if turn.absorbed_by_id else None,
        "error": turn.error or None,
        "text": text[: limits.MAX_WEBHOOK_TEXT_CHARACTERS],
        "text_characters": len(text),
        "ended_at": turn.ended_at.isoformat() if turn.ended_at else None,
        "url": f"{settings.SITE_URL}/api/turns/{turn.pk}",
    }
