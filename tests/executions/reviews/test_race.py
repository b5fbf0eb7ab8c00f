"""Many who decide at the same moment, each with a connection of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accounts.models import User
from executions.blocks.errors import ParkedForReview
from executions.models import Execution, Review
from executions.reviews.deciding import decide, expire, withdraw
from executions.reviews.errors import AlreadyDecided
from tests.accounts.conftest import race
from tests.durable.test_concurrency import together
from tests.executions.reviews.conftest import ask

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]


def asked(execution: Execution, key: str) -> Review:
    def once() -> str:
        with pytest.raises(ParkedForReview) as parked:
            ask(execution, key=key)
        return parked.value.review_id

    [review_id] = set(race(once, 4))
    return Review.objects.get(pk=review_id)


def test_of_many_decisions_at_once_one_counts(
    execution: Execution, ada: User, heard: list[tuple[str, str]]
) -> None:
    for number in range(5):
        review = asked(execution, f"k{number}")
        heard.clear()

        def approve(review: Review = review, approved: bool = True) -> str:
            try:
                return decide(Review.objects.get(pk=review.pk), approved=approved, by=ada).state
            except AlreadyDecided:
                return "refused"

        answers = together([approve, lambda: approve(approved=False)] * 3)
        review.refresh_from_db()
        assert sorted(answers) == sorted([review.state, *["refused"] * 5])
        assert heard == [(str(review.pk), review.state)]


def test_a_decision_and_an_end_at_once_agree(
    execution: Execution, ada: User, heard: list[tuple[str, str]]
) -> None:
    for number in range(5):
        review = asked(execution, f"e{number}")
        heard.clear()

        def approve(review: Review = review) -> None:
            try:
                decide(review, approved=True, by=ada)
            except AlreadyDecided:
                return

        works: list[Callable[[], object]] = [
            approve,
            lambda: withdraw(execution.pk),
            lambda review=review: expire(review),  # type: ignore[misc]
        ]
        together(works)
        review.refresh_from_db()
        assert review.state in ("approved", "withdrawn")
        assert len(heard) == (review.state == "approved")
