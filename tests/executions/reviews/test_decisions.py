"""A question is asked once and decided once, by a person or by time."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from blocks.catalog.human_in_the_loop import human_in_the_loop
from blocks.errors import BlockCancelled, ParkedForReview
from blocks.ports import PortError, ReviewQuestion
from blocks.run import run_block
from durable.signals import swept
from executions.errors import AlreadyDecided, NotEditable
from executions.models import Execution, Review
from executions.reviews.decisions import decide, expire_due, withdraw
from executions.reviews.questions import PersonReviews, ReviewContext, expires_in
from executions.signals import review_decided
from tests.blocks.doubles import make_context, make_ports
from tests.executions.reviews.conftest import QUESTION, ask, port_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
Heard = list[tuple[str, str]]


def asked(execution: Execution, question: ReviewQuestion = QUESTION, key: str = "k1", **more: Any) -> Review:
    with pytest.raises(ParkedForReview) as parked:
        ask(execution, question, key, **more)
    return Review.objects.get(pk=parked.value.review_id)


def test_asking_again_under_the_same_key_asks_once(execution: Execution) -> None:
    first = asked(execution)
    assert asked(execution, replace(QUESTION, name="Another")).pk == first.pk
    assert asked(execution, key="k2").pk != first.pk
    assert (first.name, first.data, first.state) == ("The letter", {"text": "Dear all"}, "waiting")


def test_an_approval_reaches_whoever_asks_next(execution: Execution, ada: User, heard: Heard) -> None:
    review = asked(execution)
    decide(review, approved=True, message="Fine.", by=ada)
    answer = ask(execution)
    assert (answer.approved, answer.data, answer.message) == (True, {"text": "Dear all"}, "Fine.")
    assert heard == [(str(review.pk), "approved")]
    assert (review.decided_by, review.state) == (ada, "approved")


@pytest.mark.parametrize("data", [{"text": "Dear Ada"}, None, "text", [1], False])
def test_changed_data_is_what_is_used(execution: Execution, ada: User, data: Any) -> None:
    decide(asked(execution), approved=True, data=data, by=ada)
    assert ask(execution).data == data


def test_what_may_not_be_changed_is_not(execution: Execution, ada: User, heard: Heard) -> None:
    review = asked(execution, replace(QUESTION, editable=False))
    with pytest.raises(NotEditable):
        decide(review, approved=True, data={"text": "Mine"}, by=ada)
    assert not heard
    decide(review, approved=True, data={"text": "Dear all"}, by=ada)  # the same is no change
    assert ask(execution).data == {"text": "Dear all"}


def test_a_rejection_comes_out_of_the_block_as_such(execution: Execution, ada: User) -> None:
    ports = replace(make_ports(), reviews=port_of(execution))
    context = make_context(ports=ports)
    inputs = {"data": {"text": "Dear all"}, "name": "The letter"}
    with pytest.raises(ParkedForReview):
        list(run_block(human_in_the_loop, inputs, context))
    decide(Review.objects.get(), approved=False, message="No.", by=ada)
    outputs = list(run_block(human_in_the_loop, inputs, context))
    assert outputs == [("rejected_data", {"text": "Dear all"}), ("review_message", "No.")]


def test_deciding_twice_is_refused_and_changes_nothing(execution: Execution, ada: User, heard: Heard) -> None:
    review = asked(execution)
    decide(review, approved=False, by=ada)
    with pytest.raises(AlreadyDecided, match="rejected already"):
        decide(review, approved=True, data={"text": "x"}, by=ada)
    assert not ask(execution).approved
    assert len(heard) == 1


def test_a_listener_that_fails_takes_the_decision_back(execution: Execution, ada: User) -> None:
    review = asked(execution)

    def fail(**kwargs: Any) -> None:
        raise ZeroDivisionError

    review_decided.connect(fail)
    with pytest.raises(ZeroDivisionError):
        decide(review, approved=True, by=ada)
    review_decided.disconnect(fail)
    assert asked(execution).state == "waiting"


# --- without a person ---------------------------------------------------------------------------


def let_expire(review: Review) -> None:
    Review.objects.filter(pk=review.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_time_over_counts_as_rejected_and_wakes_what_waits(execution: Execution, heard: Heard) -> None:
    review = asked(execution, expires_in=timedelta(hours=1))
    asked(execution, key="without an end")
    assert expire_due() == 0
    let_expire(review)
    swept.send(sender=None, queues={"turns"})
    assert not heard, "a worker of another queue has no business here"
    swept.send(sender=None, queues={"executions"})
    assert heard == [(str(review.pk), "expired")]
    answer = ask(execution)
    assert not answer.approved and "Nobody decided in time" in answer.message
    assert answer.data == {"text": "Dear all"}
    assert expire_due() == 0


def test_a_decision_after_the_time_is_refused_before_any_sweep(
    execution: Execution, ada: User, heard: Heard
) -> None:
    review = asked(execution, expires_in=timedelta(hours=1))
    let_expire(review)
    with pytest.raises(AlreadyDecided, match="time to decide this review is over"):
        decide(review, approved=True, by=ada)
    assert heard == [(str(review.pk), "expired")]


def test_the_end_of_an_execution_withdraws_what_it_asked(
    execution: Execution, ada: User, heard: Heard
) -> None:
    decided, open_one = asked(execution, key="a"), asked(execution, key="b")
    decide(decided, approved=True, by=ada)
    withdraw(execution.pk)
    open_one.refresh_from_db()
    decided.refresh_from_db()
    assert (decided.state, open_one.state) == ("approved", "withdrawn")
    with pytest.raises(AlreadyDecided, match="has ended"):
        decide(open_one, approved=True, by=ada)
    with pytest.raises(BlockCancelled):
        ask(execution, key="b")
    assert len(heard) == 1


@pytest.mark.parametrize("seconds", [0, -5, True, "60", None, [], 1e12])
def test_an_expiry_that_makes_no_sense_is_none(seconds: Any) -> None:
    assert expires_in({"review_expires_seconds": seconds}) is None
    assert expires_in({}) is None
    assert expires_in({"review_expires_seconds": 90}) == timedelta(seconds=90)


# --- what can go wrong --------------------------------------------------------------------------


def test_a_key_of_somebody_elses_question_answers_nothing(execution: Execution, bob: User) -> None:
    asked(execution)
    with pytest.raises(PortError, match="another user"):
        PersonReviews(ReviewContext(user_id=bob.pk)).decide(QUESTION, "k1")


def test_data_without_a_json_form_is_a_clear_error(execution: Execution) -> None:
    with pytest.raises(PortError, match="no JSON form"):
        ask(execution, replace(QUESTION, data={1: 2}))
    review = asked(execution, replace(QUESTION, data="NUL \x00", name="x" * 900))
    assert "\x00" not in str(review.data) and len(review.name) == 500


def test_a_node_asks_before_its_row_is_there(execution: Execution) -> None:
    node = uuid.uuid4()
    assert asked(execution, node_execution_id=node).node_id == node


def test_a_review_whose_expiry_fails_keeps_no_other_one_waiting(execution: Execution, heard: Heard) -> None:
    """A receiver that raises for one of them: the others expire, and the bad one is tried again."""
    bad, good = asked(execution, key="bad"), asked(execution, key="good")
    for review in (bad, good):
        let_expire(review)
    broken = True

    def stumble(review: Review, **kwargs: Any) -> None:
        if broken and review.pk == bad.pk:
            raise KeyError("a fault of this one")

    review_decided.connect(stumble, weak=False)
    try:
        assert expire_due() == 1
        states = dict(Review.objects.values_list("pk", "state"))
        assert states == {bad.pk: "waiting", good.pk: "expired"}
        broken = False
        assert expire_due() == 1
    finally:
        review_decided.disconnect(stumble)
    assert set(Review.objects.values_list("state", flat=True)) == {"expired"}
