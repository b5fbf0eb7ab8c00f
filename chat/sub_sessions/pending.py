"""What a session has started and will be called back for: operations, executions and tasks of its own."""

from __future__ import annotations

import uuid

from django.db.models import QuerySet

from chat import turns
from chat.models import Turn
from executions import cancelling
from executions.models import Execution, Review
from executions.reviews.deciding import withdraw_one
from tools.models import Operation
from tools.operations.cancelling import stop_all as stop_operations


def is_pending(session_id: uuid.UUID) -> bool:
    """Whether something will come back to the session."""
    operations = Operation.live().filter(session_id=session_id)
    return (
        operations.exists()
        or executions_of(session_id).exists()
        or tasks_of(session_id).exists()
        or waits_for_person(session_id)
    )


def waits_for_person(session_id: uuid.UUID) -> bool:
    """Whether somebody must approve a call of the session, which goes on when they have."""
    return open_reviews(session_id).exists()


def stop_pending(session_id: uuid.UUID) -> None:
    """Ask all of it to stop."""
    stop_operations(session_id)
    for execution in executions_of(session_id):
        cancelling.stop(execution.pk)
    for task in tasks_of(session_id):
        turns.stop(task)
    for review in open_reviews(session_id):
        withdraw_one(review)


def open_reviews(session_id: uuid.UUID) -> QuerySet[Review]:
    return Review.objects.filter(session_id=session_id, execution=None, state=Review.State.WAITING)


def executions_of(session_id: uuid.UUID) -> QuerySet[Execution]:
    return Execution.live().filter(session_id=session_id, tell_session=True)


def tasks_of(session_id: uuid.UUID) -> QuerySet[Turn]:
    return Turn.objects.filter(tell_session=session_id, told_at=None)
