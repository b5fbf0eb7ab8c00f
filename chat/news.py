"""News about conversations for a person's open devices; hints, sent after the commit they speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from durable import doorbell

if TYPE_CHECKING:
    from chat.models import Session, Turn


def turn_changed(turn: Turn) -> None:
    """Ring for a turn that was queued, began or ended."""
    kind = "finished" if turn.is_terminal else ("queued" if turn.status == turn.QUEUED else "running")
    owner, session_id, turn_id = turn.session.owner, str(turn.session_id), str(turn.pk)
    status, reason = turn.status, turn.end_reason

    def ring() -> None:
        doorbell.ring(
            owner, f"turn.{kind}", session_id=session_id, turn_id=turn_id, status=status, end_reason=reason
        )

    transaction.on_commit(ring, robust=True)


def session_changed(session: Session, *, deleted: bool = False) -> None:
    """Ring for a session whose title, pin or existence changed."""
    owner, session_id, title = session.owner, str(session.pk), session.title

    def ring() -> None:
        doorbell.ring(owner, "session.updated", session_id=session_id, title=title, deleted=deleted)

    transaction.on_commit(ring, robust=True)
