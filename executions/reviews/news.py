"""News about reviews for a person's open devices; hints, sent after the commit they speak of."""

from __future__ import annotations

from django.db import transaction

from durable import doorbell
from executions.models import Review


def tell_asked(review: Review) -> None:
    """Somebody is needed."""
    tell(review, "review.requested", name=review.name)


def tell_decided(review: Review) -> None:
    """Nobody is needed any more, so other devices can put the question away."""
    tell(review, "review.decided")


def tell(review: Review, kind: str, **more: str) -> None:
    facts = {
        "review_id": str(review.pk),
        "execution_id": str(review.execution_id) if review.execution_id else None,
        "session_id": str(review.session_id) if review.session_id else None,
        "state": str(review.state),
    }
    owner = f"user:{review.user_id}"
    transaction.on_commit(lambda: doorbell.ring(owner, kind, **facts, **more), robust=True)
