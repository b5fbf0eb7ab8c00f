"""Somebody who is asked, and somebody who listens to what they decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from blocks.ports import ReviewDecision, ReviewQuestion
from executions.models import Execution, Review
from executions.reviews.questions import PersonReviews, ReviewContext
from executions.signals import review_decided
from tests.executions.people import ada, as_ada, bob, make_agent, make_execution, operator

__all__ = ["ada", "as_ada", "bob", "operator"]

QUESTION = ReviewQuestion(name="The letter", data={"text": "Dear all"}, editable=True)


@pytest.fixture
def execution(ada: User) -> Execution:
    return make_execution(make_agent(ada))


@pytest.fixture
def heard() -> Iterator[list[tuple[str, str]]]:
    """(review, state) as the engine hears them, inside the transaction."""
    told: list[tuple[str, str]] = []

    def hear(review: Review, **kwargs: Any) -> None:
        told.append((str(review.pk), review.state))

    review_decided.connect(hear, weak=False)
    yield told
    review_decided.disconnect(hear)


def port_of(execution: Execution, **more: Any) -> PersonReviews:
    return PersonReviews(ReviewContext(user_id=execution.user_id, execution_id=execution.pk, **more))


def ask(
    execution: Execution, question: ReviewQuestion = QUESTION, key: str = "k1", **more: Any
) -> ReviewDecision:
    """As a node does, which may be decided by now."""
    return port_of(execution, **more).decide(question, key)
