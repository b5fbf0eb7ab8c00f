"""POST /api/operations/{id}/complete: who may answer, with what, how often (SECURITY 70-76)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings
from standardwebhooks import Webhook

from accounts.models import User
from chat.models import Session, Turn
from tests.tools.operations.conftest import run
from tools.models import Operation
from tools.operations.secrets import completion_url, secret_of

pytestmark = pytest.mark.django_db(transaction=True)
BODY = b'{"success": true, "result": {"made": 1}}'


@pytest.fixture
def operation(started: Callable[..., Operation]) -> Operation:
    return run(started(accepted=True))


def signed(
    operation_id: uuid.UUID, body: bytes = BODY, *, age: float = 0, secret: str = ""
) -> dict[str, str]:
    at = datetime.now(UTC) - timedelta(seconds=age)
    signature = Webhook(secret or secret_of(operation_id)).sign("msg_1", at, body.decode())
    stamp = str(int(at.timestamp()))
    return {"webhook-id": "msg_1", "webhook-timestamp": stamp, "webhook-signature": signature}


def post(operation_id: uuid.UUID, headers: dict[str, str], body: bytes = BODY) -> Any:
    url = f"/api/operations/{operation_id}/complete"
    return Client().post(url, body, content_type="application/json", headers=headers)


def test_a_signed_answer_completes_it_and_a_replay_has_no_effect(
    operation: Operation, session: Session
) -> None:
    headers = signed(operation.pk)
    assert post(operation.pk, headers).json() == {
        "operation_id": str(operation.pk),
        "status": "completed",
        "effect": True,
    }
    again = post(operation.pk, headers)
    assert (again.status_code, again.json()["effect"]) == (200, False)
    operation.refresh_from_db()
    assert (operation.result, operation.completed_by) == ({"made": 1}, "webhook")
    assert session.turns.filter(kind=Turn.Kind.CONTINUATION).count() == 1


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": "nonsense"},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,é"},
        {"webhook-timestamp": "soon"},
        {"webhook-id": "msg_2"},
        {"webhook-id": ""},
    ],
)
def test_a_wrong_or_cut_signature_is_refused(operation: Operation, change: dict[str, str]) -> None:
    assert post(operation.pk, signed(operation.pk) | change).status_code == 401


def test_a_truncated_signature_is_refused(operation: Operation) -> None:
    headers = signed(operation.pk)
    headers["webhook-signature"] = headers["webhook-signature"][:-8]
    assert post(operation.pk, headers).status_code == 401


def test_a_body_changed_by_one_byte_is_refused(operation: Operation) -> None:
    assert post(operation.pk, signed(operation.pk), BODY.replace(b"1", b"2")).status_code == 401
    assert post(operation.pk, signed(operation.pk), BODY + b" ").status_code == 401
    assert post(operation.pk, signed(operation.pk), b"\xff" + BODY).status_code == 401


@pytest.mark.parametrize("age", [302, -302])
def test_a_signature_outside_five_minutes_is_refused(operation: Operation, age: float) -> None:
    assert post(operation.pk, signed(operation.pk, age=age)).status_code == 401


def test_the_signature_of_one_operation_is_worth_nothing_for_another(
    operation: Operation, started: Callable[..., Operation]
) -> None:
    other = started(id="c2", note="other")
    assert post(other.pk, signed(operation.pk)).status_code == 401


def test_an_old_secret_counts_during_the_grace_and_not_after_it(
    operation: Operation, settings: Settings
) -> None:
    headers = signed(operation.pk)
    old, settings.SECRET_KEY = settings.SECRET_KEY, "a new key of the site, long enough for everybody"
    assert post(operation.pk, headers).status_code == 401
    settings.SECRET_KEY_FALLBACKS = [old]
    assert post(operation.pk, headers).status_code == 200


def test_the_sites_key_is_asked_for(operation: Operation, settings: Settings) -> None:
    settings.INTERNAL_API_KEY = ""
    assert post(operation.pk, {}).status_code == 503
    assert post(operation.pk, {"X-API-Key": ""}).status_code == 503
    settings.INTERNAL_API_KEY = "key of the house"
    assert post(operation.pk, {}).status_code == 401
    assert post(operation.pk, {"X-API-Key": "wrong"}).status_code == 401
    assert post(operation.pk, {"X-API-Key": ""}).status_code == 401
    assert post(uuid.uuid4(), {"X-API-Key": "key of the house"}).status_code == 404
    assert post(operation.pk, {"X-API-Key": "key of the house"}).json()["effect"] is True


def test_a_body_of_five_megabytes_is_refused_before_anything_else(operation: Operation) -> None:
    big = json.dumps({"success": True, "result": "x" * 5 * 1024 * 1024}).encode()
    assert post(operation.pk, {}, big).status_code == 413


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"success": "perhaps"}', b"{", b'{"success": true, "result": NaN}']
)
def test_a_body_that_is_no_answer_is_refused(operation: Operation, body: bytes) -> None:
    assert post(operation.pk, signed(operation.pk, body), body).status_code == 400
    operation.refresh_from_db()
    assert operation.status == "waiting"


def test_a_failure_without_words_gets_some(operation: Operation) -> None:
    body = b'{"success": false}'
    assert post(operation.pk, signed(operation.pk, body), body).json()["status"] == "failed"
    operation.refresh_from_db()
    assert "without a reason" in operation.error


def test_the_outside_is_told_where_to_answer(operation: Operation, settings: Settings) -> None:
    assert completion_url(operation.pk) == f"{settings.SITE_URL}/api/operations/{operation.pk}/complete"


def test_only_its_owner_sees_and_cancels_an_operation(operation: Operation, user: User) -> None:
    owner, stranger = Client(), Client()
    owner.force_login(user)
    stranger.force_login(User.objects.create(username="stranger"))
    url = f"/api/operations/{operation.pk}"
    shown = owner.get(url).json()
    assert (shown["status"], shown["tool_name"], shown["result"]) == ("waiting", "test_operation", None)
    assert shown["accepted"] is True
    assert stranger.get(url).status_code == stranger.post(f"{url}/cancel").status_code == 404
    assert Client().get(url).status_code in (401, 403)
    assert owner.get(f"/api/operations/{uuid.uuid4()}").status_code == 404
    assert owner.post(f"{url}/cancel").json() == {"cancelled": True}
    assert owner.get(url).json()["error"] == "The operation was cancelled."
