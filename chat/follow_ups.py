"""Follow-ups that are due become turns, exactly one per due time."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from chat import limits, sessions, turns
from chat.errors import TooManyTurns
from chat.models import Session, Turn
from chat.sessions import Owner
from durable import crashpoints, database, storable
from durable import limits as durable_limits
from durable.clock import database_now
from durable.database import after_commit, in_transaction
from durable.errors import Refusal
from tools.models import FollowUp

logger = logging.getLogger(__name__)
NAMESPACE = uuid.UUID("3f6f0b62-55d4-5a52-9a55-5d6f7f7a0c11")  # of the sessions that follow-ups open
CLIENT_ID = "follow-up:"
GONE = "The conversation was deleted."
INACTIVE = "The account is deactivated."


def sweep(sender: Any, queues: Collection[str], **kwargs: Any) -> None:
    """Run the follow-ups that are due; each worker that runs turns looks after every sweep."""
    if Turn.queue not in queues:
        return
    due = FollowUp.objects.filter(next_run_at__lte=Turn.clock.now()).order_by("next_run_at")
    ids = list(due.values_list("pk", flat=True)[: durable_limits.SWEEP_BATCH])
    database.run_each(ids, run_due, what="A follow-up")


@in_transaction
def run_due(followup_id: uuid.UUID) -> Turn | None:
    """Submit the turn of a follow-up that is due; return None when it is not, or cannot be run.

    Once per due time: the turn, its due time in its client_id, and the follow-up's next time are one transaction.
    Of the times missed while nothing ran only the latest is made up.
    """
    row = (
        FollowUp.objects.select_for_update(of=("self",), no_key=True)
        .select_related("user")
        .get(pk=followup_id)
    )
    now = database_now()
    if row.next_run_at is None or row.next_run_at > now:
        return None
    due_at, turn = row.next_run_at, None
    row.last_run_at, row.last_error, row.next_run_at = now, "", row.time_after(now)
    try:
        with transaction.atomic():
            turn = submit(row, due_at)
            row.last_session_id = turn.session_id
    except TooManyTurns:
        row.next_run_at = now + timedelta(seconds=limits.FOLLOW_UP_RETRY_SECONDS)
    except Refusal as error:
        row.last_error = storable.text(str(error))
        logger.info("follow-up %s was refused: %s", row.pk, error)
    row.save(update_fields=["last_run_at", "last_error", "next_run_at", "last_session_id"])
    crashpoints.reached("follow_up_submitted")
    return turn


class CannotFollowUp(Refusal):
    """The follow-up cannot be run."""

    code = "cannot_follow_up"


def submit(row: FollowUp, due_at: datetime) -> Turn:
    if not row.user.is_active:
        raise CannotFollowUp(INACTIVE)
    name = f"{CLIENT_ID}{row.pk}:{due_at:%Y%m%dT%H%M%S}"
    given = turns.Input(
        text=f"Scheduled follow-up: {row.prompt}",
        client_id=name,
        permissions=row.permissions or None,
        outside_sources=tuple(row.outside_sources),
    )
    turn = turns.accept(session_for(row, name), given)
    after_commit(turns.start, turn)
    return turn


def session_for(row: FollowUp, name: str) -> Session:
    """Return the conversation of the follow-up, or a new one; raises CannotFollowUp."""
    if row.fresh:
        return sessions.create(
            Owner(user=row.user), permissions=row.permissions or None, id=uuid.uuid5(NAMESPACE, name)
        )
    found = Session.objects.select_related("user").filter(pk=row.session_id, user=row.user).first()
    if found is None:
        raise CannotFollowUp(GONE)
    return found
