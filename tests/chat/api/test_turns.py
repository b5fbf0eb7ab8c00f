"""/api/turns: sending, looking, changing what waits, cancelling."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import OperationalError, connection
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import Budget, User
from chat import turns
from chat.models import Message, Session, Turn
from durable.redis import client as redis
from tests.chat.api.conftest import client_of
from tests.chat.delivery.fake_worker import FakeWorker, answer
from tools.models import ToolCall
from workspace import files


def post(api: APIClient, session: Session, /, **body: Any) -> Any:
    return api.post(f"/api/sessions/{session.pk}/turns", body, format="json")


# --- send -----------------------------------------------------------------------------------------


def test_a_message_is_accepted_once_it_is_committed(api: APIClient, session: Session) -> None:
    response = post(api, session, message="  Hello \n")
    assert response.status_code == 202
    turn = response.json()["turn"]
    assert turn["status"] == "queued"
    assert turn["session_id"] == str(session.pk)
    assert Message.objects.get(turn=turn["id"], role="user").text == "  Hello \n"
    assert turn["error"] is None
    assert turn["end_reason"] is None
    assert turn["usage"]["cost"] == "0.000000"


def test_the_same_client_id_answers_the_same_turn(api: APIClient, session: Session) -> None:
    first, second = (
        post(api, session, message="a", client_id="k"),
        post(api, session, message="b", client_id="k"),
    )
    assert (first.status_code, second.status_code) == (202, 200)
    assert first.json()["turn"]["id"] == second.json()["turn"]["id"]
    assert post(api, session, message="a", client_id="other").status_code == 202
    assert Message.objects.filter(role="user").count() == 2


def test_twenty_sends_at_once_with_one_client_id_are_one_turn(ada: User, session: Session) -> None:
    answers: list[Any] = []
    barrier = threading.Barrier(20)

    def one() -> None:
        client = client_of(ada)
        barrier.wait()
        answers.append(post(client, session, message="hi", client_id="same"))
        connection.close()

    threads = [threading.Thread(target=one) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [202]
    assert len({answer.json()["turn"]["id"] for answer in answers}) == 1
    assert Turn.objects.count() == Message.objects.filter(role="user").count() == 1


def test_a_message_is_accepted_while_the_broker_is_away(
    api: APIClient, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from celery import current_app
    from kombu.exceptions import OperationalError as BrokerDown

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise BrokerDown("connection refused")

    monkeypatch.setattr(current_app, "send_task", refuse)
    assert post(api, session, message="Hello").status_code == 202
    assert Turn.objects.get().status == "queued"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "message"),
        ({"message": ""}, "message"),
        ({"message": "  \n\t "}, "message"),
        ({"message": 5}, "message"),
        ({"message": None}, "message"),
        ({"message": ["a"]}, "message"),
        ({"message": {"text": "a"}}, "message"),
        ({"message": "x" * 64_001}, "message"),
        ({"message": "a", "client_id": "x" * 129}, "client_id"),
        ({"message": "a", "client_id": 7}, "client_id"),
        ({"message": "a", "while_running": "later"}, "while_running"),
        ({"message": "a", "attachments": "x"}, "attachments"),
        ({"message": "a", "attachments": ["x"]}, "attachments"),
        ({"message": "a", "attachments": [str(uuid.uuid4())] * 21}, "attachments"),
        ({"message": "a", "context": "page"}, "context"),
        ({"message": "a", "context": {"url": 5}}, "context.url"),
        ({"message": "a", "context": {"colour": "red"}}, "context.colour"),
        ({"message": "a", "context": {"content": "x" * 64_001}}, "context.content"),
        ({"message": "a", "user_id": 3}, "user_id"),
        ({"message": "a", "session": str(uuid.uuid4())}, "session"),
        ({"message": "a", "status": "completed"}, "status"),
    ],
)
def test_a_wrong_message_is_refused_by_name(
    api: APIClient, session: Session, body: dict[str, Any], field: str
) -> None:
    response = post(api, session, **body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert any(name == field or name.startswith(f"{field}.") for name in error["fields"]), error
    assert not Turn.objects.exists()


@pytest.mark.parametrize("body", [b'{"message": "a\\u0000b"}', b'{"message": "\\ud83d"}', b'{"message": "a'])
def test_text_that_cannot_be_stored_is_refused(api: APIClient, session: Session, body: bytes) -> None:
    path = f"/api/sessions/{session.pk}/turns"
    assert api.post(path, body, content_type="application/json").status_code == 400
    assert not Turn.objects.exists()


def test_a_body_over_the_cap_is_413(api: APIClient, session: Session) -> None:
    body = b'{"message": "' + b"x" * (6 * 1024 * 1024) + b'"}'
    path = f"/api/sessions/{session.pk}/turns"
    assert api.post(path, body, content_type="application/json").status_code == 413


def test_the_longest_message_is_taken_whole(api: APIClient, session: Session) -> None:
    text = "\U0001f600" * 64_000
    assert post(api, session, message=text).status_code == 202
    assert Message.objects.get(role="user").text == text


def test_attachments_must_be_ones_own(api: APIClient, session: Session, ada: User, bob: User) -> None:
    mine = files.save(ada, "a.txt", b"mine")
    theirs = files.save(bob, "b.txt", b"theirs")
    refused = post(api, session, message="a", attachments=[str(mine.pk), str(theirs.pk)])
    unknown = post(api, session, message="a", attachments=[str(uuid.uuid4())])
    assert refused.status_code == unknown.status_code == 404
    assert refused.content == unknown.content
    assert not Turn.objects.exists()
    accepted = post(api, session, message="", attachments=[str(mine.pk), str(mine.pk)])
    assert accepted.status_code == 202
    assert Message.objects.get(role="user").attachments == [str(mine.pk)]
    answer(Turn.objects.get())
    part = api.get(f"/api/sessions/{session.pk}").json()["messages"][0]["parts"][0]
    assert part == {
        "type": "file",
        "mediaType": "text/plain",
        "filename": "a.txt",
        "url": f"/api/files/{mine.pk}/content",
    }


def test_reject_answers_409_while_a_turn_runs(api: APIClient, session: Session) -> None:
    assert post(api, session, message="a", while_running="reject").status_code == 202
    refused = post(api, session, message="b", while_running="reject")
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "session_busy"


def test_over_the_in_flight_limit_is_429_with_a_time_to_come_back(
    api: APIClient, session: Session, settings: Settings, bobs_api: APIClient, bob: User
) -> None:
    settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER = 3
    assert [post(api, session, message="a").status_code for _ in range(4)] == [202, 202, 202, 429]
    refused = post(api, session, message="a")
    assert int(refused["Retry-After"]) > 0
    assert post(bobs_api, Session.objects.create(user=bob), message="a").status_code == 202


def test_over_budget_is_402_before_anything_is_written(api: APIClient, session: Session, ada: User) -> None:
    Budget.objects.create(user=ada, day_limit=Decimal(0))
    refused = post(api, session, message="a")
    assert refused.status_code == 402
    assert "budget" in refused.json()["error"]["message"]
    assert not Turn.objects.exists()


def test_a_database_that_is_away_is_503_with_a_time_to_come_back(
    api: APIClient, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(turns, "lock", away)
    refused = post(api, session, message="a")
    assert refused.status_code == 503
    assert int(refused["Retry-After"]) > 0
    assert not Turn.objects.exists()


def test_too_many_changes_a_minute_are_429_for_that_person_only(
    api: APIClient, session: Session, bobs_api: APIClient, settings: Settings
) -> None:
    settings.COPILOT_MAX_WRITES_PER_MINUTE = 5
    codes = [
        api.patch(f"/api/sessions/{session.pk}", {"title": "a"}, format="json").status_code for _ in range(12)
    ]
    assert 200 in codes
    assert codes[-1] == 429
    refused = api.patch(f"/api/sessions/{session.pk}", {"title": "a"}, format="json")
    assert int(refused["Retry-After"]) > 0
    assert api.post("/api/agents", {}, format="json").status_code == 429, (
        "changes of all kinds count together"
    )
    assert api.get(f"/api/sessions/{session.pk}").status_code == 200
    assert bobs_api.post("/api/sessions", {}, format="json").status_code == 201


def test_nothing_is_refused_for_want_of_redis(
    api: APIClient, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from durable import rate_limit

    def away() -> Any:
        raise OSError("Redis is away")

    monkeypatch.setattr(rate_limit, "client", away)
    assert post(api, session, message="a").status_code == 202
    assert redis().ping()


# --- look -----------------------------------------------------------------------------------------


def test_a_turn_tells_how_it_went(api: APIClient, send: Callable[..., Turn]) -> None:
    turn = send()
    assert api.get(f"/api/turns/{turn.pk}").json()["status"] == "queued"
    worker = FakeWorker(turn)
    running = api.get(f"/api/turns/{turn.pk}").json()
    assert (running["status"], running["attempt"]) == ("running", 1)
    assert running["started_at"]
    worker.finish(Turn.FAILED, "model_error", "")
    ended = api.get(f"/api/turns/{turn.pk}").json()
    assert (ended["status"], ended["end_reason"]) == ("failed", "model_error")
    assert ended["ended_at"]
    assert "model" in ended["error"]
    assert ended["usage"]["input_tokens"] == 10


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", ""),
        ("patch", ""),
        ("delete", ""),
        ("post", "/cancel"),
        ("get", "/stream"),
        ("post", "/tools/c1/cancel"),
    ],
)
def test_anothers_turn_is_answered_like_one_that_does_not_exist(
    bobs_api: APIClient, send: Callable[..., Turn], method: str, path: str
) -> None:
    turn = send()

    def ask(turn_id: Any) -> Any:
        return getattr(bobs_api, method)(f"/api/turns/{turn_id}{path}", {}, format="json")

    theirs, nobodys = ask(turn.pk), ask(uuid.uuid4())
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.content == nobodys.content
    assert Turn.objects.get().status == "queued"


# --- change what waits ----------------------------------------------------------------------------


def test_a_queued_message_can_be_changed_and_removed(api: APIClient, send: Callable[..., Turn]) -> None:
    FakeWorker(send("running"))
    turn = send("waits")
    changed = api.patch(
        f"/api/turns/{turn.pk}", {"message": "waits longer", "while_running": "steer"}, format="json"
    )
    assert changed.status_code == 200
    assert changed.json()["while_running"] == "steer"
    assert Message.objects.get(turn=turn).text == "waits longer"
    assert api.delete(f"/api/turns/{turn.pk}").status_code == 204
    assert api.get(f"/api/turns/{turn.pk}").status_code == 404
    assert not Message.objects.filter(text="waits longer").exists()


def test_what_has_started_cannot_be_changed_or_removed(api: APIClient, send: Callable[..., Turn]) -> None:
    turn = send()
    FakeWorker(turn)
    assert api.patch(f"/api/turns/{turn.pk}", {"message": "no"}, format="json").status_code == 409
    assert api.delete(f"/api/turns/{turn.pk}").status_code == 409


@pytest.mark.parametrize(
    "body",
    [
        {"message": ""},
        {"message": 5},
        {"while_running": "reject"},
        {"while_running": "x"},
        {"status": "running"},
    ],
)
def test_a_wrong_change_of_a_queued_message_is_refused(
    api: APIClient, send: Callable[..., Turn], body: dict[str, Any]
) -> None:
    turn = send()
    assert api.patch(f"/api/turns/{turn.pk}", body, format="json").status_code == 400


# --- cancel ---------------------------------------------------------------------------------------


def test_cancelling_tells_the_truth_in_every_state(
    api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    assert api.post(f"/api/sessions/{session.pk}/cancel").json() == {
        "cancelled": False,
        "reason": "no_active_turn",
    }
    queued = send()
    assert api.post(f"/api/turns/{queued.pk}/cancel").json() == {"cancelled": True}
    again = api.post(f"/api/turns/{queued.pk}/cancel").json()
    assert again["cancelled"] is True
    done = send()
    answer(done)
    assert api.post(f"/api/turns/{done.pk}/cancel").json() == {"cancelled": False, "reason": "no_active_turn"}
    running = send()
    worker = FakeWorker(running)
    worker.open_step()
    worker.say("kept words", apart=True)
    assert api.post(f"/api/sessions/{session.pk}/cancel").json() == {"cancelled": True}
    assert api.get(f"/api/turns/{running.pk}").json()["end_reason"] == "cancelled"
    last = api.get(f"/api/sessions/{session.pk}").json()["messages"][-1]
    assert last["content"] == "kept words"
    assert post(api, session, message="next").status_code == 202


def test_one_tool_call_can_be_cancelled_while_its_turn_goes_on(
    api: APIClient, send: Callable[..., Turn]
) -> None:
    turn = send()
    worker = FakeWorker(turn)
    worker.open_step()
    worker.ask_for("call_1", "look", "{}")
    worker.commit_step()
    assert api.post(f"/api/turns/{turn.pk}/tools/call_1/cancel").json() == {"cancelled": True}
    assert ToolCall.objects.get().cancel_requested_at is not None
    worker.answer_call("call_1", None, error="Cancelled.")
    assert api.post(f"/api/turns/{turn.pk}/tools/call_1/cancel").json() == {
        "cancelled": False,
        "reason": "not_running",
    }
    assert api.post(f"/api/turns/{turn.pk}/tools/unknown/cancel").status_code == 404
    assert Turn.objects.get().status == "running"
