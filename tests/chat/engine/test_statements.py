"""What a turn costs in statements to the database, counted: an addition to the hot path has to be meant."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.api_keys import create_api_key
from chat import engine
from chat.models import Session, Turn
from durable.runtime import runtime
from tests.offline_server import OfflineServer

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Turn]
PLAIN_TURN = 20  # from the accepted input to the end, with BEGIN and without COMMIT; one of them every few seconds only
WITH_LOGIN = 21  # the same from the POST on, with an API key
NOT_POKED = (
    'UPDATE "chat_turn" SET "poked_at" = NULL'  # where the queue is taken for full, as without a worker
)


def statements(send: Send, script: dict[str, Any]) -> list[str]:
    with CaptureQueriesContext(connection) as asked:
        assert send(script).end_reason == "done"
    return counted(asked)[:-1]  # the fixture reads the turn again


def counted(asked: CaptureQueriesContext) -> list[str]:
    said = [query["sql"][:80] for query in asked]
    return [sql for sql in said if sql != "COMMIT" and not sql.startswith(NOT_POKED)]


def test_a_plain_turn_takes_no_more_statements_than_counted(send: Send) -> None:
    send({"steps": [{"text": "The first turn also asks for a title."}]})
    said = statements(send, {"id": "plain", "steps": [{"text": "Hello."}]})
    assert len(said) <= PLAIN_TURN, "\n".join(said)


def test_its_post_adds_the_login_and_the_session(session: Session, model: OfflineServer) -> None:
    assert session.user is not None
    Session.objects.filter(pk=session.pk).update(title="Named", titled_by=Session.TitledBy.USER)
    client = Client(headers={"Authorization": f"Bearer {create_api_key(session.user, 'test')}"})
    client.get("/api/me")  # notes the use of the key
    with CaptureQueriesContext(connection) as asked:
        answer = client.post(
            f"/api/sessions/{session.pk}/turns", {"message": "Hello."}, content_type="application/json"
        )
        turn = Turn(pk=uuid.UUID(answer.json()["turn"]["id"]))
        runtime().run(Turn, turn.pk, engine.run)
    turn.refresh_from_db()
    assert turn.end_reason == "done"
    said = counted(asked)
    assert len(said) <= WITH_LOGIN, "\n".join(said)
