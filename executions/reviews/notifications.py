"""Push of reviews to a user's open devices: hints, sent after the commit."""

from __future__ import annotations

from django.db import transaction

from durable import client_push
from executions.models import Review


def push_requested(review: Review) -> None:
    """Show the question on all devices."""
    push(review, "review.requested", name=review.name)


def push_decided(review: Review) -> None:
    """Remove the question from other devices."""
    push(review, "review.decided")


def push(review: Review, kind: str, **more: str) -> None:
    facts = {
        "review_id": str(review.pk),
        "execution_id": str(review.execution_id) if review.execution_id else None,
        "session_id": str(review.session_id) if review.session_id else None,
        "state": str(review.state),
    }
    owner = f"user:{review.user_id}"
    transaction.on_commit(lambda: client_push.push(owner, kind, **facts, **more), robust=True)
