"""/api/sessions: own conversations and nobody else's."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from chat.models import Message, Session, Step, Turn
from durable.models import EventPage
from tests.chat.delivery.fake_worker import FakeWorker, answer
from tools.models import ToolCall


def errors(response: Any) -> dict[str, Any]:
    found: dict[str, Any] = response.json()["error"]
    return found


# --- create ---------------------------------------------------------------------------------------


def test_a_session_is_made_with_a_title_and_permissions(api: APIClient, ada: User) -> None:
    permissions = {"tools": {"allow": ["web_fetch"], "deny": []}, "blocks": {"allow": None, "deny": ["x"]}}
    response = api.post("/api/sessions", {"title": "Plans", "permissions": permissions}, format="json")
    assert response.status_code == 201
    made = response.json()
    assert made["title"] == "Plans"
    assert made["status"] == "idle"
    assert made["permissions"] == permissions
    assert Session.objects.get(pk=made["id"]).user == ada
    assert Session.objects.get(pk=made["id"]).titled_by == "user"


def test_a_session_needs_nothing(api: APIClient) -> None:
    made = api.post("/api/sessions", {}, format="json").json()
    assert made["title"] == ""
    assert made["permissions"] == {
        "tools": {"allow": None, "deny": []},
        "blocks": {"allow": None, "deny": []},
    }
    assert made["parent"] is None
    assert made["pinned"] is False


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": 5}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"title": None}, "title"),
        ({"permissions": []}, "permissions"),
        ({"permissions": {"tools": {"allow": "all"}}}, "permissions"),
        ({"permissions": {"colour": {}}}, "permissions"),
        ({"user_id": 1}, "user_id"),
        ({"session": "x"}, "session"),
        ({"pinned": True}, "pinned"),
    ],
)
def test_a_wrong_body_is_refused_by_name(api: APIClient, body: dict[str, Any], field: str) -> None:
    response = api.post("/api/sessions", body, format="json")
    assert response.status_code == 400
    assert field in errors(response)["fields"]
    assert not Session.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"title": "a", "title": "b"}',
        b'{"title": "\\u0000"}',
        b'{"title": "\\ud800"}',
        b'{"title": 1e999}',
        b'{"title": ' + b"9" * 5000 + b"}",
        b'{"title": NaN}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_no_json_object_is_refused(api: APIClient, body: bytes) -> None:
    response = api.post("/api/sessions", body, content_type="application/json")
    assert response.status_code == 400
    assert errors(response)["message"]
    assert not Session.objects.exists()


def test_another_content_type_is_refused(api: APIClient) -> None:
    assert api.post("/api/sessions", b"title=a", content_type="text/plain").status_code == 415


# --- list -----------------------------------------------------------------------------------------


def test_sessions_come_newest_first_in_pages(api: APIClient, ada: User) -> None:
    made = [Session.objects.create(user=ada, title=str(n)) for n in range(7)]
    first = api.get("/api/sessions?limit=3").json()
    assert [row["title"] for row in first["results"]] == ["6", "5", "4"]
    Session.objects.create(user=ada, title="meanwhile")
    second = api.get(f"/api/sessions?limit=3&cursor={first['next']}").json()
    third = api.get(f"/api/sessions?limit=3&cursor={second['next']}").json()
    assert [row["title"] for row in second["results"] + third["results"]] == ["3", "2", "1", "0"]
    assert third["next"] is None
    assert made[0].pk


def test_a_message_brings_its_session_to_the_front(
    api: APIClient, session: Session, ada: User, send: Callable[..., Turn]
) -> None:
    other = Session.objects.create(user=ada)
    earlier = timezone.now() - timedelta(minutes=1)  # the clock of a machine may be set back a little
    Session.objects.filter(pk=session.pk).update(active_at=earlier - timedelta(minutes=1))
    Session.objects.filter(pk=other.pk).update(active_at=earlier)
    send()
    assert api.get("/api/sessions").json()["results"][0]["id"] == str(session.pk)


def test_the_status_tells_idle_queued_and_running(
    api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    def status() -> str:
        found: str = api.get("/api/sessions").json()["results"][0]["status"]
        assert api.get(f"/api/sessions/{session.pk}").json()["status"] == found
        return found

    assert status() == "idle"
    turn = send()
    assert status() == "queued"
    worker = FakeWorker(turn)
    assert status() == "running"
    worker.finish()
    assert status() == "idle"


def test_search_looks_in_titles_and_messages(
    api: APIClient, session: Session, ada: User, send: Callable[..., Turn]
) -> None:
    titled = Session.objects.create(user=ada, title="Holiday in Norway")
    answer(send("Where do puffins live?"), "In Iceland, 100% sure")

    def found(words: str) -> list[str]:
        rows = api.get("/api/sessions", {"search": words}).json()["results"]
        return [row["id"] for row in rows]

    assert found("norway") == [str(titled.pk)]
    assert found("PUFFIN") == [str(session.pk)]
    assert found("iceland") == [str(session.pk)]
    assert found("100%") == [str(session.pk)]
    assert found("%") == [str(session.pk)]
    assert found("walrus") == []


def test_the_pinned_filter(api: APIClient, ada: User) -> None:
    pinned = Session.objects.create(user=ada, pinned=True)
    other = Session.objects.create(user=ada)
    assert [row["id"] for row in api.get("/api/sessions?pinned=true").json()["results"]] == [str(pinned.pk)]
    assert [row["id"] for row in api.get("/api/sessions?pinned=false").json()["results"]] == [str(other.pk)]
    assert api.get("/api/sessions?pinned=maybe").status_code == 400


@pytest.mark.parametrize(
    "query",
    ["ordering=user__password", "user__password__startswith=p", "session__user=1", "limit=1000000000"],
)
def test_filters_nobody_offers_change_nothing(api: APIClient, ada: User, bob: User, query: str) -> None:
    mine = Session.objects.create(user=ada)
    Session.objects.create(user=bob)
    rows = api.get(f"/api/sessions?{query}").json()["results"]
    assert [row["id"] for row in rows] == [str(mine.pk)]


@pytest.mark.parametrize("query", ["cursor=nonsense", "limit=many", "cursor=W10"])
def test_a_bad_page_is_a_clear_error(api: APIClient, query: str) -> None:
    assert api.get(f"/api/sessions?{query}").status_code == 400


def test_listing_costs_the_same_for_any_number(api: APIClient, ada: User) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert api.get("/api/sessions?limit=100").status_code == 200
        return len(queries)

    Session.objects.create(user=ada)
    few = cost()
    for _ in range(50):
        Session.objects.create(user=ada)
    assert cost() == few


# --- detail ---------------------------------------------------------------------------------------


def test_the_detail_has_messages_in_the_ai_sdks_form(
    api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    turn = send("Hi", context={"url": "https://a.example/page", "content": "The page"})
    answer(turn, "Hello")
    turn.refresh_from_db()
    detail = api.get(f"/api/sessions/{session.pk}").json()
    question, reply = detail["messages"]
    assert question["role"] == "user"
    assert question["parts"] == [{"type": "text", "text": "Hi"}]
    assert question["content"] == "Hi"
    assert question["metadata"]["turn_id"] == str(turn.pk)
    assert question["metadata"]["context"] == {"url": "https://a.example/page"}
    assert reply["id"] == str(turn.answer_id)
    assert reply["role"] == "assistant"
    assert reply["parts"] == [{"type": "step-start"}, {"type": "text", "text": "Hello", "state": "done"}]
    assert reply["content"] == "Hello"
    assert reply["metadata"]["usage"] == {
        "input_tokens": 10,
        "output_tokens": 20,
        "cached_tokens": 0,
        "cost": "0.001200",
    }
    assert reply["metadata"]["status"] == "completed"
    assert reply["metadata"]["end_reason"] == "done"
    assert reply["metadata"]["files_seen"] == []
    assert detail["active_turn"] is None
    assert detail["queued_turns"] == []
    assert detail["before"] is None


def test_the_detail_shows_what_runs_and_what_waits(
    api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    running, waiting, urgent = send("one"), send("two"), send("three", while_running="interrupt")
    FakeWorker(urgent)
    detail = api.get(f"/api/sessions/{session.pk}").json()
    assert detail["active_turn"]["id"] == str(urgent.pk)
    assert [turn["message"]["content"] for turn in detail["queued_turns"]] == ["one", "two"]
    assert [turn["id"] for turn in detail["queued_turns"]] == [str(running.pk), str(waiting.pk)]


def test_messages_page_backwards_by_the_id_of_the_oldest_shown(
    api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    for n in range(5):
        answer(send(f"question {n}"), f"answer {n}")
    seen: list[str] = []
    before = ""
    while True:
        page = api.get(f"/api/sessions/{session.pk}", {"limit": "3", "before": before}).json()
        seen = [message["content"] for message in page["messages"]] + seen
        if page["before"] is None:
            break
        before = page["before"]
    assert seen == [text for n in range(5) for text in (f"question {n}", f"answer {n}")]


@pytest.mark.parametrize("before", ["nonsense", str(uuid.UUID(int=1)), "0"])
def test_a_bad_before_is_a_clear_error(api: APIClient, session: Session, before: str) -> None:
    response = api.get(f"/api/sessions/{session.pk}?before={before}")
    assert response.status_code == 400
    assert "before" in errors(response)["fields"]


def test_before_a_message_of_another_session_is_an_error(api: APIClient, session: Session, bob: User) -> None:
    other = Session.objects.create(user=bob)
    message = Message.objects.create(session=other, role="user", seq=0, text="secret")
    assert api.get(f"/api/sessions/{session.pk}?before={message.pk}").status_code == 400


def test_what_was_answered_anew_is_left_out(
    api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    from chat import turns

    answer(send("question"), "first answer")
    again = turns.regenerate(session).turn
    answer(again, "second answer")
    contents = [message["content"] for message in api.get(f"/api/sessions/{session.pk}").json()["messages"]]
    assert contents == ["question", "second answer"]


def test_a_page_of_two_thousand_messages_costs_a_constant_number_of_queries(
    api: APIClient, session: Session, ada: User
) -> None:
    def fill(turn_count: int) -> None:
        for _ in range(turn_count):
            turn = Turn.objects.create(session=session, user=ada, status="completed", end_reason="done")
            place = session.reserve_seqs(2)
            Message.objects.create(session=session, turn=turn, role="user", seq=place, text="q")
            Message.objects.create(
                pk=turn.answer_id, session=session, turn=turn, role="assistant", seq=place + 1, text="a"
            )
            part = {"kind": "tool", "id": "c1", "name": "look", "arguments": "{}"}
            Step.objects.create(turn=turn, number=0, attempt=1, parts=[part, {"kind": "text", "text": "a"}])
            ToolCall.objects.create(
                key=f"{turn.pk}:0:c1",
                turn_id=turn.pk,
                session_id=session.pk,
                step=0,
                index=0,
                call_id="c1",
                name="look",
                arguments={},
                effect="pure",
                state="succeeded",
                result={"n": 1},
                attempt=1,
            )

    def cost(limit: int) -> int:
        with CaptureQueriesContext(connection) as queries:
            page = api.get(f"/api/sessions/{session.pk}?limit={limit}").json()
        assert page["messages"][-1]["parts"][1]["output"] == {"n": 1}
        return len(queries)

    fill(2)
    few = cost(4)
    fill(998)
    assert cost(100) == few
    assert few <= 12


# --- change, delete -------------------------------------------------------------------------------


def test_a_name_a_person_gave_is_theirs(api: APIClient, session: Session) -> None:
    response = api.patch(f"/api/sessions/{session.pk}", {"title": "Mine", "pinned": True}, format="json")
    assert response.status_code == 200
    assert (response.json()["title"], response.json()["pinned"]) == ("Mine", True)
    session.refresh_from_db()
    assert session.titled_by == "user"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"pinned": "yes"}, "pinned"),
        ({"pinned": 1}, "pinned"),
        ({"user": 2}, "user"),
        ({"title": {}}, "title"),
    ],
)
def test_a_wrong_change_is_refused(api: APIClient, session: Session, body: Any, field: str) -> None:
    response = api.patch(f"/api/sessions/{session.pk}", body, format="json")
    assert response.status_code == 400
    assert field in errors(response)["fields"]


def test_deleting_removes_everything_and_stops_what_runs(
    api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    answer(send("one"))
    worker = FakeWorker(send("two"))
    worker.open_step()
    worker.ask_for("c1", "look", "{}")
    worker.commit_step()
    queued = send("three")
    assert api.delete(f"/api/sessions/{session.pk}").status_code == 204
    assert not Session.objects.exists()
    assert not Turn.objects.exists()
    assert not Message.objects.exists()
    assert not EventPage.objects.exists()
    assert not ToolCall.objects.exists()
    assert api.get(f"/api/turns/{queued.pk}").status_code == 404
    assert api.delete(f"/api/sessions/{session.pk}").status_code == 404


# --- others' --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("get", "", None),
        ("patch", "", {"title": "Mine now"}),
        ("delete", "", None),
        ("post", "/turns", {"message": "Hi"}),
        ("post", "/cancel", None),
        ("post", "/stream", {"message": "Hi"}),
        ("get", "/stream", None),
        ("patch", "/assign-user", {}),
    ],
)
def test_anothers_session_is_answered_like_one_that_does_not_exist(
    bobs_api: APIClient, session: Session, method: str, path: str, body: Any
) -> None:
    def ask(session_id: Any) -> Any:
        call = getattr(bobs_api, method)
        return call(f"/api/sessions/{session_id}{path}", body, format="json")

    theirs, nobodys = ask(session.pk), ask(uuid.uuid4())
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.content == nobodys.content
    session.refresh_from_db()
    assert not session.turns.exists()
    assert session.title == ""


@pytest.mark.parametrize("key", ["..", "%2e%2e", "x" * 500, "' OR 1=1 --", "%F0%9F%98%80", "0"])
def test_odd_ids_are_not_found(api: APIClient, key: str) -> None:
    assert api.get(f"/api/sessions/{key}").status_code == 404


def test_without_login_there_is_nothing(session: Session) -> None:
    stranger = APIClient()
    for method, path in (
        ("get", "/api/sessions"),
        ("post", "/api/sessions"),
        ("get", f"/api/sessions/{session.pk}"),
        ("post", "/api/chat"),
        ("get", "/api/config"),
    ):
        response = getattr(stranger, method)(path)
        assert response.status_code == 401, path
        assert response["WWW-Authenticate"].startswith("Bearer")


def test_a_change_by_cookie_needs_the_csrf_token_and_one_by_key_does_not(ada: User) -> None:
    from accounts.api_keys import create_api_key

    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(ada)
    assert browser.post("/api/sessions", {}, format="json").status_code == 403
    browser.get("/api/config")
    token = browser.cookies["csrftoken"].value
    assert browser.post("/api/sessions", {}, format="json", HTTP_X_CSRFTOKEN=token).status_code == 201
    program = APIClient(enforce_csrf_checks=True)
    key = create_api_key(ada, "program")
    bearer = f"Bearer {key}"
    assert program.post("/api/sessions", {}, format="json", HTTP_AUTHORIZATION=bearer).status_code == 201
