"""What a turn costs in statements to the database, counted: an addition to the hot path has to be meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.models import Turn

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Turn]
PLAIN_TURN = 35  # from the accepted input to the end, with BEGIN and without COMMIT; the goal is 20
NOT_POKED = (
    'UPDATE "chat_turn" SET "poked_at" = NULL'  # where the queue is taken for full, as without a worker
)


def statements(send: Send, script: dict[str, Any]) -> list[str]:
    with CaptureQueriesContext(connection) as asked:
        assert send(script).end_reason == "done"
    said = [query["sql"][:80] for query in asked][:-1]  # the fixture reads the turn again
    return [sql for sql in said if sql != "COMMIT" and not sql.startswith(NOT_POKED)]


def test_a_plain_turn_takes_no_more_statements_than_counted(send: Send) -> None:
    send({"steps": [{"text": "The first turn also asks for a title."}]})
    said = statements(send, {"id": "plain", "steps": [{"text": "Hello."}]})
    assert len(said) <= PLAIN_TURN, "\n".join(said)
