"""Long work that waits for a person: it begins with the answer that says so, or not at all."""

from __future__ import annotations

import pytest

from executions.models import Review
from executions.reviews.decisions import decide
from tests.tools.conftest import Bench, call
from tools.base import Effect
from tools.models import Operation

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def approved(bench: Bench) -> Review:
    """A held operation that the person has approved."""
    bench.outside_sources = ("evil.example",)
    held = bench.run_one("test_foreign_operation", note="x").output
    assert (held["type"], Operation.objects.count()) == ("review_required", 0)
    review = Review.objects.get(pk=held["review_id"])
    decide(review, approved=True, by=bench.user)
    return review


def test_a_start_that_was_interrupted_is_made_up_for(bench: Bench, approved: Review) -> None:
    """Nothing of it happens before the answer is saved, so a worker that died before that leaves no doubt."""
    going_on = call("continue_run_block", id="go", review_id=str(approved.pk))
    bench.leave_in_doubt(going_on, Effect.IDEMPOTENT)
    Review.objects.filter(pk=approved.pk).update(continued_by=bench.key("go"))
    [answer] = bench.run(going_on)
    assert answer.output["type"] == "operation_started", answer.output
    assert Operation.objects.count() == 1


def test_of_two_calls_one_starts_it(bench: Bench, approved: Review) -> None:
    first, second = (call("continue_run_block", id=name, review_id=str(approved.pk)) for name in ("a", "b"))
    answers = sorted(answer.output["type"] for answer in bench.run(first, second))
    assert answers == ["error", "operation_started"]
    assert Operation.objects.count() == 1
