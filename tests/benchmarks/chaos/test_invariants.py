"""The checks themselves: each broken promise is seen. A checker that finds nothing anywhere proves nothing."""

from __future__ import annotations

import subprocess
from decimal import Decimal
from typing import Any

import pytest
import redis

from accounts.ledger import charge_once
from accounts.models import User
from benchmarks.chaos import invariants
from benchmarks.chaos.invariants import EFFECT, FOREIGN_EFFECT, Findings, Recorded
from chat.models import Message, Session, Turn
from durable.ids import new_id
from tests.environment import TEST_HOME
from tests.testtools.models import TestEffect
from tools.models import ToolCall, call_key

pytestmark = pytest.mark.django_db


class FakeStack:
    """The two things the checks ask a stack for: where its Redis is, and which effects happened outside."""

    def __init__(self) -> None:
        self.socket = TEST_HOME / "redis" / "redis.sock"
        self.lines: list[str] = []

    def effects(self) -> list[str]:
        return self.lines


class FakeReader:
    def __init__(self, text: str, kinds: list[str]) -> None:
        self.text = text
        self.kinds = kinds


@pytest.fixture
def stack(redis_server: subprocess.Popen[bytes]) -> FakeStack:
    redis.Redis(unix_socket_path=str(TEST_HOME / "redis" / "redis.sock")).flushall()
    return FakeStack()


@pytest.fixture
def turn() -> Turn:
    """A turn of two steps that went well."""
    user = User.objects.create(username="ann")
    session = Session.objects.create(user=user)
    turn = Turn.objects.create(
        session=session, user=user, status=Turn.COMPLETED, end_reason=Turn.EndReason.DONE, attempt=1
    )
    Message.objects.create(session=session, turn=turn, role="user", seq=0, text="hello")
    Message.objects.create(
        id=turn.answer_id, session=session, turn=turn, role="assistant", seq=1, text="one two"
    )
    turn.attempts.create(number=1, owner="w", first_step=0)
    for number, text in enumerate(("one ", "two")):
        turn.steps.create(number=number, attempt=1, parts=[{"kind": "text", "text": text}])
        charge_once(
            user_id=user.pk,
            key=f"turn:{turn.pk}:step:{number}",
            kind="model",
            amount=Decimal(0),
            job_id=turn.pk,
        )
    return turn


def check(
    stack: Any, turn: Turn, text: str = "one two", kinds: tuple[str, ...] = ("start", "finish")
) -> Findings:
    reader: Any = FakeReader(text, list(kinds))
    return invariants.check(stack, [Recorded(turn.pk, reader)])


def test_good_turn_has_no_findings(stack: FakeStack, turn: Turn) -> None:
    findings = check(stack, turn)
    assert findings.all == []
    assert findings.failed == 0


def test_accepted_turn_without_a_row_is_lost(stack: FakeStack) -> None:
    assert invariants.check(stack, [Recorded(new_id())]).lost  # type: ignore[arg-type]


def test_turn_without_an_end_is_stuck(stack: FakeStack, turn: Turn) -> None:
    Turn.objects.filter(pk=turn.pk).update(status=Turn.RUNNING)
    assert check(stack, turn).stuck


def test_second_answer_is_a_double(stack: FakeStack, turn: Turn) -> None:
    Message.objects.create(session=turn.session, turn=turn, role="assistant", seq=2, text="again")
    assert check(stack, turn).doubled


def test_hole_between_steps_is_seen(stack: FakeStack, turn: Turn) -> None:
    turn.steps.filter(number=0).delete()
    findings = check(stack, turn)
    assert findings.other and findings.doubled


def test_step_without_its_charge_is_lost(stack: FakeStack, turn: Turn) -> None:
    turn.steps.create(number=2, attempt=1, parts=[])
    assert check(stack, turn).lost


def test_write_of_a_fenced_attempt_is_seen(stack: FakeStack, turn: Turn) -> None:
    turn.attempts.create(number=2, owner="v", first_step=1)
    assert "attempt 1 wrote after attempt 2" in check(stack, turn).other[0]


def test_other_text_than_the_database_has_is_seen(stack: FakeStack, turn: Turn) -> None:
    assert check(stack, turn, text="one").unlike
    assert check(stack, turn, kinds=("start", "start", "finish")).unlike
    assert check(stack, turn, kinds=("start",)).unlike


def test_recorder_that_never_heard_the_end_is_seen(stack: FakeStack, turn: Turn) -> None:
    assert invariants.check(stack, [Recorded(turn.pk, failure="no finish")]).unlike  # type: ignore[arg-type]


def add_call(turn: Turn, name: str, state: str) -> str:
    key = call_key(turn.pk, 0, name)
    ToolCall.objects.create(
        key=key, turn_id=turn.pk, session_id=turn.session_id, step=0, index=0, call_id=name, name=name,
        arguments={}, effect="foreign", attempt=1, state=state,
    )  # fmt: skip
    return key


def test_effect_that_happened_twice_is_a_double(stack: FakeStack, turn: Turn) -> None:
    key = add_call(turn, FOREIGN_EFFECT, ToolCall.State.SUCCEEDED)
    stack.lines = [f"{key}\tx"]
    assert check(stack, turn).all == []
    stack.lines *= 2
    assert check(stack, turn).doubled


def test_effect_that_never_happened_is_lost_unless_it_is_said_to_be_in_doubt(
    stack: FakeStack, turn: Turn
) -> None:
    key = add_call(turn, EFFECT, ToolCall.State.SUCCEEDED)
    assert check(stack, turn).lost
    ToolCall.objects.filter(key=key).update(state=ToolCall.State.INTERRUPTED)
    assert check(stack, turn).all == []
    TestEffect.objects.create(key=key)
    assert check(stack, turn).other
    Turn.objects.filter(pk=turn.pk).update(end_reason=Turn.EndReason.WORKER_LOST)
    assert check(stack, turn).all == [], "given up: nobody was left to look it up"


def test_call_of_an_ended_turn_without_an_end_is_seen(stack: FakeStack, turn: Turn) -> None:
    add_call(turn, "test_pure", ToolCall.State.STARTED)
    assert check(stack, turn).other


def test_redis_key_that_would_stay_for_ever_is_seen(stack: FakeStack, turn: Turn) -> None:
    client = redis.Redis(unix_socket_path=str(stack.socket))
    client.set("ratchet:events:x", "1", ex=60)
    client.sadd("ratchet:_kombu.binding.turns", "x")
    client.lpush("ratchet:turns", "poke")
    assert check(stack, turn).all == []
    client.set("ratchet:forgotten", "1")
    assert "ratchet:forgotten" in check(stack, turn).other[0]
    client.flushall()


def test_poke_to_a_broker_that_is_away_is_tried_once() -> None:
    from celery import current_app

    options = current_app.connection_for_write()._extract_failover_opts()
    assert options["max_retries"] == 0
