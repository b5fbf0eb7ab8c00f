"""Follow-ups that are due become turns: once per due time, also for two workers at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from chat import follow_ups, sessions
from chat.models import Message, Session, Turn
from tools.models import FollowUp, TodoList

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def session(redis_server: object) -> Session:
    return Session.objects.create(user=User.objects.create_user("ann"))


def due(session: Session, **fields: Any) -> FollowUp:
    values = {"prompt": "Look again", "next_run_at": timezone.now() - timedelta(seconds=5)} | fields
    assert session.user is not None
    return FollowUp.objects.create(
        key=str(timezone.now()), user=session.user, session_id=session.pk, **values
    )


def sweep() -> None:
    follow_ups.sweep(None, queues=[Turn.queue])


def test_a_due_follow_up_becomes_one_turn_in_its_conversation(session: Session) -> None:
    row = due(session, outside_sources=["example.com"])
    sweep()
    sweep()
    turn = session.turns.get()
    assert Message.objects.get(turn=turn, role="user").text == "Scheduled follow-up: Look again"
    row.refresh_from_db()
    session.refresh_from_db()
    assert (row.next_run_at, row.last_session_id, row.last_error) == (None, session.pk, "")
    assert session.outside_sources == ["example.com"]


def test_one_that_is_not_due_waits_and_other_workers_do_not_look(session: Session) -> None:
    due(session, next_run_at=timezone.now() + timedelta(minutes=1))
    sweep()
    due(session)
    follow_ups.sweep(None, queues=["executions"])
    assert not Turn.objects.exists()


def test_cron_goes_on_and_makes_up_for_the_latest_missed_time_only(session: Session) -> None:
    row = due(session, cron="*/15 * * * *", next_run_at=timezone.now() - timedelta(hours=5))
    sweep()
    row.refresh_from_db()
    assert row.next_run_at is not None and row.next_run_at > timezone.now()
    assert session.turns.count() == 1


def test_a_new_conversation_each_time_has_the_permissions_of_the_old(session: Session) -> None:
    allowed = {"tools": {"allow": ["web_fetch"], "deny": []}, "blocks": {"allow": None, "deny": []}}
    row = due(session, fresh=True, permissions=allowed)
    sweep()
    row.refresh_from_db()
    assert row.last_session_id is not None
    made = Session.objects.get(pk=row.last_session_id)
    assert (made.pk != session.pk, made.user, made.permissions["tools"]["allow"]) == (
        True,
        session.user,
        ["web_fetch"],
    )
    assert made.turns.count() == 1 and not session.turns.exists()


def test_what_cannot_be_run_says_why_and_ends(session: Session) -> None:
    gone = due(session)
    FollowUp.objects.filter(pk=gone.pk).update(session_id="00000000-0000-4000-8000-000000000000")
    sweep()
    gone.refresh_from_db()
    assert (gone.last_error, gone.next_run_at) == (follow_ups.GONE, None)


def test_too_many_turns_in_flight_put_it_off(session: Session, settings: Any) -> None:
    settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER = 0
    row = due(session)
    sweep()
    row.refresh_from_db()
    assert row.next_run_at is not None and not Turn.objects.exists()
    assert row.next_run_at > timezone.now()


def test_a_deleted_conversation_takes_its_follow_ups_and_to_do_list_along(session: Session) -> None:
    due(session)
    TodoList.objects.create(session_id=session.pk, items=[])
    sessions.delete(session)
    assert not FollowUp.objects.exists() and not TodoList.objects.exists()


def test_people_see_and_cancel_their_own_follow_ups(session: Session, client: Client) -> None:
    row = due(session, next_run_at=timezone.now() + timedelta(hours=1))
    client.force_login(User.objects.create_user("bob"))
    assert client.get("/api/follow-ups").json() == []
    assert client.delete(f"/api/follow-ups/{row.pk}").status_code == 404
    assert session.user is not None
    client.force_login(session.user)
    [shown] = client.get("/api/follow-ups").json()
    assert (shown["id"], shown["prompt"], shown["new_session"]) == (str(row.pk), "Look again", False)
    assert client.delete(f"/api/follow-ups/{row.pk}").status_code == 204
    assert client.get("/api/follow-ups").json() == []
    assert client.get(f"/api/follow-ups/{row.pk}").json()["next_run_at"] is None
