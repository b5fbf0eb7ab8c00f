"""A turn over two model servers of which one dies in the middle of an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from chat import turns
from chat.models import Session, Turn
from tests.chat.engine.conftest import run_turn
from tests.llm.dialect_servers import KEY, Anthropic, Chat, Fault, ModelServer, Script, running

pytestmark = pytest.mark.django_db(transaction=True)
CALLS = Script(thoughts=("hm",), redacted=True, calls=(("call_a", "find_tool", ("{}",)),))
ANSWER = Script(thoughts=("so",), text=("one ", "two ", "three"))


@pytest.fixture
def first() -> Iterator[ModelServer]:
    with running(Anthropic()) as server:
        yield server


@pytest.fixture
def second() -> Iterator[ModelServer]:
    with running(Chat()) as server:
        yield server


@pytest.fixture(autouse=True)
def both(first: ModelServer, second: ModelServer, settings: Settings, redis_server: object) -> None:
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.COPILOT_TITLE_MODEL = ""
    settings.COPILOT_ENDPOINTS = json.dumps(
        [
            {"name": "first", "url": first.url, "key": KEY, "dialect": "anthropic", "models": ["big"]},
            {"name": "second", "url": second.url, "key": KEY, "models": ["spare"]},
        ]
    )
    settings.COPILOT_MODEL, settings.COPILOT_FALLBACK_MODEL = "first/big", "second/spare"


def send(session: Session, text: str) -> Turn:
    turn = turns.submit(session, turns.Input(text=text)).turn
    run_turn(turn)
    return turn


def test_the_other_server_goes_on_and_each_gets_back_what_it_gave(
    first: ModelServer, second: ModelServer, session: Session
) -> None:
    first.play(CALLS, ANSWER)
    second.play(Script(text=("from the ", "second")))

    def die_after_this_answer(body: dict[str, Any]) -> None:
        first.faults = [Fault(cut_at=6, times=99)]

    first.choose = die_after_this_answer
    turn = send(session, "look it up")
    assert turn.end_reason == "done"
    assert [step.model_name for step in turn.steps.all()] == ["first/big", "second/spare"]
    assert [step.text for step in turn.steps.all()] == ["", "from the second"]
    assert "OPAQUE" not in json.dumps(second.asked[-1].body)
    first.faults, first.choose = [], lambda body: None
    later = send(session, "and now")
    assert (later.end_reason, later.steps.get().model_name) == ("done", "first/big")
    assert "OPAQUE" in json.dumps(first.asked[-1].body)
    assert first.refusals == second.refusals == []


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_key_a_credit_or_a_model_that_one_server_refuses_is_not_the_end_where_there_is_another(
    first: ModelServer, second: ModelServer, session: Session, status: int
) -> None:
    first.faults = [Fault(status=status, error={"message": "no"}, times=99)]
    second.play(Script(text=("from the second",)))
    turn = send(session, "hi")
    assert (turn.end_reason, turn.model_name) == ("done", "second/spare")
    assert [failure["detail"] for failure in turn.model_failures] == [f"HTTP {status}: no"]


def test_a_request_that_is_refused_for_itself_is_not_sent_to_another_server(
    first: ModelServer, second: ModelServer, session: Session
) -> None:
    first.faults = [Fault(status=400, error={"message": "no"}, times=99)]
    turn = send(session, "hi")
    assert (turn.end_reason, second.asked) == ("model_error", [])
