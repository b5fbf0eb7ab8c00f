"""Visitors without an account: they chat where the site lets them, and take their session along at login."""

from __future__ import annotations

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from chat.models import Session, Turn
from tests.chat.delivery.fake_worker import answer


@pytest.fixture
def visitors_welcome(settings: Settings) -> None:
    settings.COPILOT_ALLOW_ANONYMOUS = True


@pytest.fixture
def visitor(transactional_db: None, visitors_welcome: None) -> APIClient:
    return APIClient()


def test_a_visitor_opens_a_session_and_talks_in_it(visitor: APIClient) -> None:
    assert visitor.get("/api/sessions").json()["results"] == []
    made = visitor.post("/api/sessions", {}, format="json")
    assert made.status_code == 201
    session_id = made.json()["id"]
    sent = visitor.post(f"/api/sessions/{session_id}/turns", {"message": "Hi"}, format="json")
    assert sent.status_code == 202
    answer(Turn.objects.get())
    assert len(visitor.get(f"/api/sessions/{session_id}").json()["messages"]) == 2
    assert [row["id"] for row in visitor.get("/api/sessions").json()["results"]] == [session_id]


def test_another_visitor_sees_nothing_of_it(visitor: APIClient) -> None:
    session_id = visitor.post("/api/sessions", {}, format="json").json()["id"]
    other = APIClient()
    assert other.get(f"/api/sessions/{session_id}").status_code == 404
    other.post("/api/sessions", {}, format="json")
    assert other.get(f"/api/sessions/{session_id}").status_code == 404
    assert other.post(f"/api/sessions/{session_id}/turns", {"message": "x"}, format="json").status_code == 404


def test_a_forged_cookie_is_worth_nothing(visitor: APIClient, settings: Settings) -> None:
    session_id = visitor.post("/api/sessions", {}, format="json").json()["id"]
    forger = APIClient()
    forger.cookies[settings.COPILOT_VISITOR_COOKIE] = str(Session.objects.get().visitor_id)
    assert forger.get(f"/api/sessions/{session_id}").status_code == 404


def test_visitors_are_not_let_in_by_default(transactional_db: None) -> None:
    assert APIClient().post("/api/sessions", {}, format="json").status_code == 401


def test_a_page_of_another_site_cannot_write_for_a_visitor(visitor: APIClient) -> None:
    visitor.post("/api/sessions", {}, format="json")
    refused = visitor.post("/api/sessions", {}, format="json", HTTP_ORIGIN="https://evil.example")
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "csrf_failed"
    own = visitor.post("/api/sessions", {}, format="json", HTTP_ORIGIN="http://testserver")
    assert own.status_code == 201


def test_a_session_is_claimed_at_login_with_those_it_started(
    visitor: APIClient, ada: User, bob: User
) -> None:
    session_id = visitor.post("/api/sessions", {}, format="json").json()["id"]
    session = Session.objects.get(pk=session_id)
    child = Session.objects.create(visitor_id=session.visitor_id, parent=session, depth=1)
    visitor.post(f"/api/sessions/{session_id}/turns", {"message": "Hi"}, format="json")
    visitor.force_login(ada)
    assert visitor.get(f"/api/sessions/{session_id}").status_code == 404
    claimed = visitor.patch(f"/api/sessions/{session_id}/assign-user", {}, format="json")
    assert claimed.status_code == 200
    session.refresh_from_db()
    child.refresh_from_db()
    assert session.user == child.user == ada
    assert session.visitor_id is None
    assert Turn.objects.get().user == ada
    assert visitor.patch(f"/api/sessions/{session_id}/assign-user", {}, format="json").status_code == 200
    stranger = APIClient()
    stranger.force_login(bob)
    assert stranger.patch(f"/api/sessions/{session_id}/assign-user", {}, format="json").status_code == 404


def test_a_claimed_session_gives_way_to_an_id_the_user_has_already(visitor: APIClient, ada: User) -> None:
    session = Session.objects.create(user=ada, client_key="same")
    visitor.post("/api/sessions", {}, format="json")
    mine = Session.objects.get(user=None)
    Session.objects.filter(pk=mine.pk).update(client_key="same")
    visitor.force_login(ada)
    assert visitor.patch(f"/api/sessions/{mine.pk}/assign-user", {}, format="json").status_code == 200
    assert visitor.get("/api/sessions/same").json()["id"] == str(session.pk)


def test_claiming_needs_a_login(visitor: APIClient) -> None:
    session_id = visitor.post("/api/sessions", {}, format="json").json()["id"]
    assert visitor.patch(f"/api/sessions/{session_id}/assign-user", {}, format="json").status_code == 401
