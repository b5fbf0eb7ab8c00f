"""Unread marks and counts for badges, the same on all devices."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from chat import notifications
from chat.models import Session, Turn
from executions.models import Review
from tests.chat.api.test_branches import answer
from tools.models import ToolCall
from webhooks.models import PushNotice

pytestmark = pytest.mark.django_db(transaction=True)


def end(turn: Turn) -> Turn:
    answer(turn, "Done.")
    Turn.objects.filter(pk=turn.pk).update(ended_at=timezone.now())
    turn.refresh_from_db()
    return turn


def listed(api: APIClient) -> dict[str, bool]:
    return {row["id"]: row["unread"] for row in api.get("/api/sessions").json()["results"]}


def counts(api: APIClient) -> tuple[int, int, int]:
    found = api.get("/api/attention").json()
    return found["unread"], found["questions"], found["reviews"]


def test_an_answer_is_unread_until_a_page_says_it_was_seen(
    api: APIClient, bobs_api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    turn = send("one")
    assert listed(api) == {str(session.pk): False}, "nothing has come yet"
    end(turn)
    assert listed(api) == {str(session.pk): True}
    assert counts(api) == (1, 0, 0)
    assert bobs_api.post(f"/api/sessions/{session.pk}/read").status_code == 404
    assert counts(bobs_api) == (0, 0, 0)
    assert api.post(f"/api/sessions/{session.pk}/read").status_code == 204
    assert listed(api) == {str(session.pk): False}
    end(send("two"))
    assert counts(api) == (1, 0, 0)


def test_what_other_conversations_handed_over_is_nobodys_to_read(
    api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    Session.objects.filter(pk=session.pk).update(depth=1)
    end(send("one"))
    assert counts(api)[0] == 0


def test_questions_and_reviews_are_counted(
    api: APIClient, ada: User, session: Session, send: Callable[..., Turn]
) -> None:
    turn = end(send("one"))
    ToolCall.objects.create(
        key=f"{turn.pk}:0:c1",
        turn_id=turn.pk,
        session_id=session.pk,
        step=0,
        index=0,
        call_id="c1",
        name="ask_question",
        arguments={},
        effect="pure",
        state="succeeded",
        result={"type": "clarification_needed"},
        attempt=1,
    )
    Review.objects.create(user=ada, key="one", name="Send it?", data={})
    assert counts(api)[1:] == (1, 1)


def test_the_end_of_a_turn_is_pushed_to_who_is_away_and_not_once_it_was_read(
    api: APIClient, ada: User, session: Session, send: Callable[..., Turn]
) -> None:
    User.objects.filter(pk=ada.pk).update(has_push=True)
    turn = Turn.objects.select_related("session__user").get(pk=end(send("one")).pk)
    notifications.announce_end(turn)
    notice = PushNotice.objects.get()
    assert (notice.event_id, notice.kind, notice.url) == (f"turn:{turn.pk}", "answer", f"/c/{session.pk}")
    api.post(f"/api/sessions/{session.pk}/read")
    notice.refresh_from_db()
    assert notice.seen_at is not None


@pytest.mark.parametrize("change", [{"status": "cancelled"}, {"execution_id": uuid.uuid4()}])
def test_what_a_person_stopped_or_an_agent_asked_is_not_pushed(
    ada: User, send: Callable[..., Turn], change: dict[str, object]
) -> None:
    User.objects.filter(pk=ada.pk).update(has_push=True)
    turn = end(send("one"))
    Turn.objects.filter(pk=turn.pk).update(**change)
    notifications.announce_end(Turn.objects.select_related("session__user").get(pk=turn.pk))
    assert not PushNotice.objects.exists()
