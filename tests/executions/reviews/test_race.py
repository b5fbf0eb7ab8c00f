"""Many who decide at the same moment, each with a connection of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import User
from blocks.errors import ParkedForReview
from executions import cancellation
from executions.errors import AlreadyDecided
from executions.models import Execution, Review
from executions.reviews.decisions import decide, expire, withdraw
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


WAIT = 120


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks the whole file, not rows")
@pytest.mark.parametrize("approve", [True, None], ids=["decided", "expired"])
def test_a_decision_and_a_cancel_at_once_do_not_wait_for_each_other(
    execution: Execution, ada: User, approve: bool | None
) -> None:
    """The cancel holds the execution and is about to withdraw the review, which is being decided."""
    review = asked(execution, "k")
    Execution.objects.filter(pk=execution.pk).update(status=Execution.WAITING, asks_person=True)
    if approve is None:
        Review.objects.filter(pk=review.pk).update(expires_at=timezone.now())
    holding, stopped = threading.Event(), []

    def cancel() -> None:
        with transaction.atomic():
            Execution.objects.select_for_update(no_key=True).get(pk=execution.pk)
            holding.set()
            time.sleep(0.5)  # by now the decision stands in line
            stopped.append(cancellation.stop(execution.pk))
        connection.close()

    other = threading.Thread(target=cancel)
    other.start()
    assert holding.wait(WAIT)
    if approve is None:
        assert not expire(review)
    else:
        with pytest.raises(AlreadyDecided):
            decide(review, approved=approve, by=ada)
    other.join(WAIT)
    review.refresh_from_db()
    execution.refresh_from_db()
    assert (stopped, execution.status, review.state) == ([True], "TERMINATED", "withdrawn")
