"""A database that fails for a moment while an answer is prepared costs the turn an attempt, not its answer."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest
from django.db import OperationalError

from chat.models import Turn
from durable import limits
from tests.chat.engine.conftest import run_turn

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Turn]
engine_run = importlib.import_module("chat.engine.run")


def fail(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let the first checks between two steps find the database locked."""
    check, errors = engine_run.check_budget, [OperationalError("database is locked")] * times

    def checking(*args: object, **options: object) -> None:
        if errors:
            raise errors.pop()
        check(*args, **options)

    monkeypatch.setattr(engine_run, "check_budget", checking)


def test_a_locked_database_hands_the_turn_to_the_next_attempt(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, 1)
    turn = send({"steps": [{"text": "Here."}]})
    assert (turn.status, turn.owner, turn.crashes) == (Turn.RUNNING, "", 0)
    run_turn(turn)
    assert (turn.end_reason, turn.attempt) == ("done", 2)


def test_a_database_that_stays_locked_ends_the_turn_at_last(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, limits.MAX_ATTEMPTS)
    turn = send({"steps": [{"text": "Here."}]})
    for _ in range(limits.MAX_ATTEMPTS - 1):
        run_turn(turn)
    assert (turn.end_reason, turn.attempt) == ("internal_error", limits.MAX_ATTEMPTS)
