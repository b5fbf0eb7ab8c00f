"""The reviews port of a block run: asks a person and returns the decision."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from blocks.errors import BlockCancelled, ParkedForReview
from blocks.ports import JSON, PortError, ReviewDecision, ReviewQuestion
from durable import storable
from durable.ids import new_id
from executions import limits, notifications
from executions.models import Execution, Review

EXPIRES_KEY = "review_expires_seconds"  # in the metadata of a node
State = Review.State


@dataclass(frozen=True, kw_only=True)
class ReviewContext:
    """Who is asked, and by what: a node of an execution, or a block run from a conversation."""

    user_id: int
    block_id: str = ""
    execution_id: uuid.UUID | None = None
    node_execution_id: uuid.UUID | None = None
    session_id: uuid.UUID | None = None
    tool_name: str = ""
    expires_in: timedelta | None = None


class PersonReviews:
    """The reviews port; asks the user the block runs for."""

    def __init__(self, asker: ReviewContext) -> None:
        self._asker = asker

    def decide(self, question: ReviewQuestion, key: str) -> ReviewDecision:
        """Return the decision; raise ParkedForReview while there is none. Once per key: a repeated call reads it."""
        review = ask_once(self._asker, question, key)
        state = State(review.state)
        match state:
            case State.WAITING:
                raise ParkedForReview(str(review.pk))
            case State.APPROVED | State.REJECTED | State.EXPIRED:
                return ReviewDecision(
                    approved=state is State.APPROVED, data=review.decided_data, message=review.message
                )
            case State.WITHDRAWN:
                raise BlockCancelled
            case _:
                assert_never(state)


def ask_once(
    asker: ReviewContext, question: ReviewQuestion, key: str, *, review_id: uuid.UUID | None = None
) -> Review:
    """Return the review of this key; of concurrent calls one creates it and notifies the user.

    `review_id` is for those who must know it before they are in the transaction that asks.
    """
    if found := Review.objects.filter(key=key).first():
        return checked(found, asker)
    try:
        data = storable.json_value(question.data)
    except ValueError as error:
        raise PortError(f"What is to be reviewed has no JSON form: {error}.") from None
    review = Review(
        id=review_id or new_id(),
        user_id=asker.user_id,
        key=key,
        execution_id=asker.execution_id,
        node_id=asker.node_execution_id,
        session_id=asker.session_id,
        block_id=asker.block_id,
        tool_name=asker.tool_name,
        name=question.name[: limits.MAX_REVIEW_NAME_CHARACTERS],
        data=data,
        editable=question.editable,
        answer_schema=question.answer_schema,
        outside_sources=list(question.outside_sources),
        expires_at=Execution.clock.after(asker.expires_in.total_seconds()) if asker.expires_in else None,
    )
    Review.objects.bulk_create([review], ignore_conflicts=True)
    kept = Review.objects.get(key=key)
    if kept.pk == review.pk:
        notifications.push_requested(kept)
    return checked(kept, asker)


def checked(review: Review, asker: ReviewContext) -> Review:
    if review.user_id != asker.user_id:
        raise PortError("This review belongs to another user.")
    return review


def expires_in(metadata: Mapping[str, JSON]) -> timedelta | None:
    """Return how long a person may take according to the node's metadata; None if not limited."""
    seconds = metadata.get(EXPIRES_KEY)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    if not 0 < seconds <= limits.MAX_REVIEW_SECONDS:
        return None
    return timedelta(seconds=seconds)
