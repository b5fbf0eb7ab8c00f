"""Decisions on reviews: approved, rejected, expired or withdrawn; the first one counts."""

from __future__ import annotations

import enum
import uuid
from typing import Any, Final, Literal

from django.db.models import F, Q

from accounts.models import User
from blocks.ports import JSON
from durable import database, limits
from durable.database import in_transaction
from executions import notifications
from executions.errors import AlreadyDecided, NotEditable, NothingToRemember
from executions.models import Execution, Review
from executions.signals import review_decided

NOBODY_IN_TIME = "Nobody decided in time, so it counts as rejected."
WORDS = {
    Review.State.APPROVED: "This review has been approved already.",
    Review.State.REJECTED: "This review has been rejected already.",
    Review.State.EXPIRED: "The time to decide this review is over; it counts as rejected.",
    Review.State.WITHDRAWN: "The run that asked for this review has ended, so there is nothing left to decide.",
}


class Unchanged(enum.Enum):
    """Marks unchanged data; None would be a value."""

    UNCHANGED = enum.auto()


UNCHANGED: Final = Unchanged.UNCHANGED


def decide(
    review: Review,
    *,
    approved: bool,
    data: JSON | Literal[Unchanged.UNCHANGED] = UNCHANGED,
    message: str = "",
    remember: str = Review.Remember.ONCE,
    by: User | None,
) -> Review:
    """Write the decision and wake what waits for it, in one transaction. Once: a second one raises AlreadyDecided.

    Raises NotEditable if data was changed that may not be, NothingToRemember if it is not about a tool.
    """
    if remember and not review.tool_name:
        raise NothingToRemember
    if data is not UNCHANGED and not review.editable and data != review.data:
        raise NotEditable
    decision = {
        "state": Review.State.APPROVED if approved else Review.State.REJECTED,
        "decided_data": F("data") if data is UNCHANGED else data,
        "message": message,
        "remember": remember,
        "decided_by": by,
    }
    if not _write(review, Q(expires_at=None) | Q(expires_at__gt=Execution.clock.now()), **decision):
        raise too_late(review)
    return review


@in_transaction
def _write(review: Review, condition: Q, **decision: Any) -> bool:
    """Write a decision once; return False if there was one or the condition does not hold."""
    hold_execution(review)
    waiting = Review.objects.filter(condition, pk=review.pk, state=Review.State.WAITING)
    decided = waiting.update(decided_at=Execution.clock.now(), **decision)
    if decided:
        announce(review)
    return bool(decided)


def hold_execution(review: Review) -> None:
    """Lock the execution before its review, in the order in which its end locks them, to avoid a deadlock."""
    if review.execution_id is not None:
        rows = Execution.objects.select_for_update(no_key=True).filter(pk=review.execution_id)
        rows.values_list("pk", flat=True).first()


def too_late(review: Review) -> AlreadyDecided:
    review.refresh_from_db()
    state = Review.State(review.state)
    if state is Review.State.WAITING:  # its time is over, and no sweep has expired it yet
        expire(review)
        state = Review.State.EXPIRED
    return AlreadyDecided(WORDS[state])


def announce(review: Review) -> None:
    review.refresh_from_db()
    review_decided.send(sender=Review, review=review)
    notifications.push_decided(review)


# --- without a person ---------------------------------------------------------------------------


def expire_due() -> int:
    """Reject reviews that were not decided in time; return how many."""
    due = Review.objects.filter(state=Review.State.WAITING, expires_at__lte=Execution.clock.now())
    late = list(due.order_by("expires_at")[: limits.SWEEP_BATCH])
    return sum(database.run_each(late, expire, what="The expiry of a review"))


def expire(review: Review) -> bool:
    """Reject one whose time is over; return False if it was decided."""
    late = Q(expires_at__lte=Execution.clock.now())
    return _write(review, late, state=Review.State.EXPIRED, decided_data=F("data"), message=NOBODY_IN_TIME)


def withdraw(execution_id: uuid.UUID) -> None:
    """Withdraw the open reviews of an execution, inside the transaction that ends it."""
    waiting = Review.objects.filter(execution_id=execution_id, state=Review.State.WAITING)
    for review in waiting:
        withdraw_one(review)


def withdraw_one(review: Review) -> None:
    """Withdraw one review that is not decided."""
    taken_back = Review.objects.filter(pk=review.pk, state=Review.State.WAITING)
    if taken_back.update(state=Review.State.WITHDRAWN, decided_at=Execution.clock.now()):
        review.state = Review.State.WITHDRAWN
        notifications.push_decided(review)
