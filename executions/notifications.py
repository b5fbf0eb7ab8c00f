"""Push of changed executions and reviews to a user's open devices: hints, sent after the commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from durable import client_push, event_log
from executions import signals
from executions.models import Execution, Review
from executions.redaction import hide
from webhooks import notices
from webhooks.events import NoticeKind
from webhooks.notices import NoticeText


def execution_changed(execution: Execution, nodes: Sequence[dict[str, Any]] = ()) -> None:
    """Push the status of an execution and of the nodes that changed."""
    frame = {
        "id": str(execution.pk),
        "agent_id": str(execution.agent_id),
        "status": execution.public_status,
        "session_id": str(execution.session_id) if execution.session_id else None,
        "error": hide(execution.error, execution.secrets) or None,
        "nodes": list(nodes),
        "news": execution.is_terminal and is_news(execution),
    }
    owner = f"user:{execution.user_id}"

    def push() -> None:
        client_push.push(owner, "execution.updated", **frame)
        event_log.nudge(execution.pk)  # wakes those who wait for it
        signals.execution_changed.send_robust(sender=type(execution), execution=execution, nodes=list(nodes))

    transaction.on_commit(push, robust=True)


def push_requested(review: Review) -> None:
    """Show the question on all devices, and push it to a person who is away. Inside the transaction that asks."""
    push(review, "review.requested", name=review.name)
    text = NoticeText(kind=NoticeKind.REVIEW, subject=review.name, url=f"/library/reviews?review={review.pk}")
    notices.announce(user=review.user, subject="review", subject_id=review.pk, describe=lambda: text)


def push_decided(review: Review) -> None:
    """Remove the question from other devices."""
    push(review, "review.decided")
    notices.withdraw(review.user_id, "review", review.pk)


def is_news(execution: Execution) -> bool:
    """Return whether its person should hear that it ended: not of parts of another run, or what they stopped."""
    return execution.parent_id is None and execution.status != Execution.CANCELLED


def announce_end(execution: Execution) -> None:
    """Push the end of an execution that a person started. Inside the transaction that ends it."""
    if not is_news(execution):
        return

    def describe() -> NoticeText:
        url = f"/library/runs/{execution.pk}"
        return NoticeText(kind=NoticeKind.RUN, subject=execution.agent.name, url=url)

    notices.announce(user=execution.user, subject="execution", subject_id=execution.pk, describe=describe)


def push(review: Review, kind: str, **more: str) -> None:
    facts = {
        "review_id": str(review.pk),
        "execution_id": str(review.execution_id) if review.execution_id else None,
        "session_id": str(review.session_id) if review.session_id else None,
        "state": str(review.state),
    }
    owner = f"user:{review.user_id}"
    transaction.on_commit(lambda: client_push.push(owner, kind, **facts, **more), robust=True)
