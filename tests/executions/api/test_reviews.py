"""/api/reviews, and what a person's devices hear."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from blocks.errors import ParkedForReview
from durable import client_push
from executions.models import Execution, NodeExecution, Review
from tests.executions.people import logged_in
from tests.executions.reviews.conftest import ask

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
URL = "/api/reviews"


@pytest.fixture
def review(execution: Execution) -> Review:
    node = NodeExecution.objects.create(execution=execution, node_id="n1", block_id="b", status="WAITING")
    with pytest.raises(ParkedForReview):
        ask(execution, node_execution_id=node.pk, block_id="b")
    return Review.objects.get()


def say(client: Client, review: Review, **body: Any) -> Any:
    return client.post(f"{URL}/{review.pk}/decide", body, content_type="application/json")


def test_a_question_is_listed_with_all_a_person_needs(as_ada: Client, review: Review) -> None:
    [shown] = as_ada.get(URL).json()["results"]
    assert shown == as_ada.get(f"{URL}/{review.pk}").json()
    assert (shown["name"], shown["data"], shown["editable"]) == ("The letter", {"text": "Dear all"}, True)
    assert (shown["agent_name"], shown["node_id"]) == ("Greeter", "n1")
    assert shown["execution_id"] == str(review.execution_id)
    assert (shown["state"], shown["decided_by"], shown["decided_data"]) == ("waiting", None, None)


def test_lists_can_be_narrowed(as_ada: Client, review: Review) -> None:
    def count(**query: str) -> int:
        return len(as_ada.get(URL, query).json()["results"])

    assert (count(state="waiting"), count(state="approved")) == (1, 0)
    assert (count(execution=str(review.execution_id)), count(execution=str(uuid.uuid4()))) == (1, 0)
    wrong = as_ada.get(URL, {"state": "open"})
    assert wrong.status_code == 400 and "waiting" in wrong.json()["error"]["fields"]["state"][0]
    assert as_ada.get(URL, {"execution": "nonsense"}).status_code == 400


def test_a_decision_is_taken_once(as_ada: Client, review: Review) -> None:
    answer = say(as_ada, review, approved=True, data={"text": "Dear Ada"}, message="Be precise.")
    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["state"], shown["decided_by"], shown["decided_data"]) == (
        "approved",
        "ada",
        {"text": "Dear Ada"},
    )
    again = say(as_ada, review, approved=False)
    assert again.status_code == 409 and again.json()["error"]["code"] == "already_decided"


@pytest.mark.parametrize("body", [{}, {"approved": "perhaps"}, {"approved": True, "message": "x" * 10_001}])
def test_what_is_no_decision_is_refused(as_ada: Client, review: Review, body: dict[str, Any]) -> None:
    assert say(as_ada, review, **body).status_code == 400
    review.refresh_from_db()
    assert review.state == "waiting"


def test_data_that_may_not_be_changed_is_refused(as_ada: Client, review: Review) -> None:
    Review.objects.update(editable=False)
    answer = say(as_ada, review, approved=True, data={})
    assert answer.status_code == 400 and answer.json()["error"]["code"] == "not_editable"


def test_nobody_else_sees_or_decides_it(bob: User, review: Review) -> None:
    stranger = logged_in(bob)
    assert stranger.get(URL).json()["results"] == []
    assert stranger.get(f"{URL}/{review.pk}").status_code == 404
    assert say(stranger, review, approved=True).status_code == 404
    assert say(Client(), review, approved=True).status_code in (401, 403)


def test_devices_hear_that_somebody_is_needed_and_when_nobody_is(
    as_ada: Client,
    execution: Execution,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    rings: list[tuple[object, str, dict[str, Any]]] = []
    monkeypatch.setattr(client_push, "push", lambda owner, kind, **data: rings.append((owner, kind, data)))
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(2):
            with pytest.raises(ParkedForReview):
                ask(execution)
    with django_capture_on_commit_callbacks(execute=True):
        say(as_ada, Review.objects.get(), approved=True)
    assert [(owner, kind) for owner, kind, _ in rings] == [
        (f"user:{execution.user_id}", "review.requested"),
        (f"user:{execution.user_id}", "review.decided"),
    ]
    assert rings[0][2]["name"] == "The letter"
    assert "Dear all" not in str(rings), "the data stays in the database"


def test_operators_reject_but_do_not_approve(operator: Client, review: Review) -> None:
    Review.objects.update(data={"api_key": "canary", "text": "shown"})
    page = operator.get(f"/admin/executions/review/{review.pk}/change/").content.decode()
    assert "shown" in page and "canary" not in page
    act = {"action": "reject", "sure": "yes", "_selected_action": [str(review.pk)]}
    operator.post("/admin/executions/review/", act, follow=True)
    review.refresh_from_db()
    assert (review.state, review.message) == ("rejected", "Rejected by an operator.")
    assert "rejected already" in operator.post("/admin/executions/review/", act, follow=True).content.decode()
    log = operator.get(f"/admin/executions/review/{review.pk}/history/").content.decode()
    assert "Rejected." in log
