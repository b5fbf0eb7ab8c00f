"""What a person's decision does to the operation that waits for it."""

from __future__ import annotations

from typing import Any

from django.db.models import F, Q

from durable import jobs
from durable.database import after_commit
from durable.publisher import poke
from executions.models import Review
from executions.signals import review_decided
from tools import policies
from tools.models import Operation

NOT_APPROVED = "not_approved"
REJECTED = "It was not approved, so it was not done."
State = Review.State


def connect() -> None:
    """Connect the signal handler; called once when Django is set up."""
    review_decided.connect(after_review, dispatch_uid="tools.after_review")


def after_review(sender: Any, review: Review, **kwargs: Any) -> None:
    """Start, continue or end the operation that waits for this review, inside the transaction that decides it."""
    if review.tool_name:
        policies.remember(review, review.tool_name)
    operation = Operation.live().filter(review_id=review.pk).first()
    if operation is None:
        return
    if operation.handle is None and review.state != State.APPROVED:
        reject(operation, review)
    else:
        go_on(operation)


def go_on(operation: Operation) -> None:
    """Queue an operation that waits. Once: a second decision cannot be written."""
    waiting = Operation.live().filter(pk=operation.pk, status=Operation.WAITING)
    woken = waiting.update(
        status=Operation.QUEUED,
        attempt=F("attempt") + 1,
        run_at=None,
        begun=False,
        poked_at=Operation.clock.now(),
    )
    if woken:
        after_commit(poke, Operation, operation.pk)


def reject(operation: Operation, review: Review) -> None:
    Operation.live().filter(pk=operation.pk).update(error=f"{REJECTED} {review.message}".strip())
    live = ~Q(status__in=Operation.TERMINAL)
    jobs.end_unowned(Operation, operation.pk, live, status=Operation.FAILED, reason=NOT_APPROVED)
