"""A turn from message to end, seen in its rows and in its log."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from accounts.models import LedgerEntry
from chat import replay, turns
from chat.engine import history, journal
from chat.models import Message, Session, Step, Turn
from chat.protocol import Framed
from durable import event_log, limits
from tests.chat.delivery.fake_worker import FakeWorker
from tests.chat.delivery.ui_reducer import Reducer
from tests.chat.engine.conftest import run_turn
from tests.offline_server import OfflineServer
from tools.models import calls_of

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Turn]


def chunks(turn: Turn) -> list[dict[str, Any]]:
    return [json.loads(entry.body) for entry in event_log.stored(turn.pk)]


def test_text_answer_is_kept_as_one_message_and_streamed_once(send: Send, session: Session) -> None:
    turn = send({"steps": [{"text": "Hello there, Ann."}]})
    assert (turn.status, turn.end_reason, turn.attempt) == ("completed", "done", 1)
    rows = list(session.messages.order_by("seq"))
    assert [row.role for row in rows] == ["user", "assistant"]
    assert rows[1].text == "Hello there, Ann."
    assert rows[1].pk == turn.answer_id
    kinds = [chunk["type"] for chunk in chunks(turn)]
    assert kinds[0] == "start" and kinds[-1] == "finish"
    assert kinds.count("start") == kinds.count("finish") == kinds.count("text-end") == 1
    told = "".join(chunk["delta"] for chunk in chunks(turn) if chunk["type"] == "text-delta")
    assert told == "Hello there, Ann."


def test_tool_calls_run_and_their_results_reach_the_model(send: Send, model: OfflineServer) -> None:
    call = {"name": "no_such_tool", "arguments": {"x": 1}, "id": "call_1"}
    turn = send({"steps": [{"text": "Looking.", "tool_calls": [call]}, {"text": "That did not work."}]})
    assert turn.end_reason == "done"
    assert [step.number for step in turn.steps.all()] == [0, 1]
    assert calls_of(turn.pk).get().state == "failed"
    request = model.requests[-1]
    assert request.n_messages >= 4
    kinds = [chunk["type"] for chunk in chunks(turn)]
    assert kinds.index("tool-input-available") < kinds.index("finish-step")
    assert kinds.count("start-step") == kinds.count("finish-step") == 2


def test_only_deaths_without_progress_between_them_count(session: Session, model: OfflineServer) -> None:
    died = limits.MAX_ATTEMPTS - 1
    call = {"name": "test_pure", "arguments": {}, "id": "call_1"}
    seen: list[int] = []
    for steps in ([{"text": "At once."}], [{"tool_calls": [call]}, {"text": "Step by step."}]):
        turn = turns.submit(session, turns.Input(text="SCRIPT:\n" + json.dumps({"steps": steps}))).turn
        Turn.objects.filter(pk=turn.pk).update(crashes=died)
        run_turn(turn)
        assert turn.end_reason == "done"
        seen.append(turn.crashes)
    assert seen == [died, 0]


def test_same_call_id_in_two_steps_becomes_two_ids(send: Send) -> None:
    call = {"name": "no_such_tool", "arguments": {}, "id": "call_1"}
    turn = send({"steps": [{"tool_calls": [call]}, {"tool_calls": [call]}, {"text": "ok"}]})
    ids = [chunk["toolCallId"] for chunk in chunks(turn) if chunk["type"] == "tool-input-available"]
    assert len(set(ids)) == 2
    assert turn.end_reason == "done"


def test_reasoning_comes_before_the_text_in_parts_of_its_own(send: Send) -> None:
    turn = send({"steps": [{"reasoning": "Let me think.", "text": "42"}]})
    parts = Step.objects.get(turn=turn).parts
    assert parts == [{"kind": "reasoning", "text": "Let me think."}, {"kind": "text", "text": "42"}]
    assert Message.objects.get(pk=turn.answer_id).text == "42"


def test_cut_answer_is_replaced_and_not_doubled(send: Send) -> None:
    step = {"chunks": ["one ", "two ", "three"], "fault": {"cut_after_chunks": 2}}
    turn = send({"id": "cut", "steps": [step]})
    assert turn.end_reason == "done"
    assert Message.objects.get(pk=turn.answer_id).text == "one two three"
    told = [chunk for chunk in chunks(turn) if chunk["type"] == "text-delta"]
    assert "".join(chunk["delta"] for chunk in told) == "one two three"


def test_call_that_was_cut_off_is_closed_and_said_to_be_not_made(send: Send, session: Session) -> None:
    call = {"name": "no_such_tool", "arguments": {"x": "y" * 400}, "id": "c1"}
    step = {"text": "Let me see.", "tool_calls": [call], "fault": {"cut_after_chunks": 4, "times": None}}
    turn = send({"steps": [step]})
    assert (turn.status, turn.end_reason) == ("failed", "model_error")
    told = Reducer().hear_all(entry.body for entry in event_log.stored(turn.pk))
    [shown] = [part for part in told.parts if part["type"] == "tool-no_such_tool"]
    assert (shown["state"], shown["errorText"]) == ("output-error", "Not made: the answer ended first.")
    again = Reducer().hear_all(Framed(event).encode() for event in replay.committed_events(turn))
    assert again.parts == told.parts
    assert not calls_of(turn.pk).exists()
    said = history.messages_for(turn)[-1]
    assert said["content"] == "Let me see." and "tool_calls" not in said


def test_refused_request_fails_the_turn_with_a_sentence(send: Send, session: Session) -> None:
    turn = send({"steps": [{"fault": {"status": 401, "times": None}}]})
    assert (turn.status, turn.end_reason) == ("failed", "model_error")
    assert "OPENAI_API_KEY" in turn.error
    assert [chunk["type"] for chunk in chunks(turn)][-2:] == ["error", "finish"]
    again = send({"steps": [{"text": "fine"}]})
    assert again.end_reason == "done"


def test_long_rate_limit_frees_the_worker_and_the_turn_waits(send: Send) -> None:
    turn = send({"id": "limited", "steps": [{"text": "later", "fault": {"status": 429, "retry_after": 120}}]})
    assert (turn.status, turn.owner) == ("waiting", "")
    assert turn.run_at is not None


def test_a_rate_limit_longer_than_the_turns_time_left_ends_it_and_says_when_to_come_back(send: Send) -> None:
    seconds = limits.MAX_TURN_SECONDS + 60
    limited = {"text": "later", "fault": {"status": 429, "retry_after": seconds}}
    turn = send({"id": "limited for long", "steps": [limited]})
    assert (turn.status, turn.end_reason) == ("failed", "model_error")
    assert turn.ended_at is not None
    back_at = turn.ended_at + timedelta(seconds=seconds)
    minutes = {f"{back_at + timedelta(minutes=near):%Y-%m-%d %H:%M} UTC" for near in (-1, 0)}
    assert any(minute in turn.error for minute in minutes), turn.error
    assert [chunk["type"] for chunk in chunks(turn)][-2:] == ["error", "finish"]


def test_usage_is_counted_and_charged_once_per_step(send: Send, session: Session) -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 7}
    turn = send({"steps": [{"text": "a", "usage": usage}]})
    assert (turn.input_tokens, turn.output_tokens) == (11, 7)
    charge = LedgerEntry.objects.get(job_id=turn.pk)
    assert (charge.user_id, charge.input_tokens, charge.output_tokens) == (session.user_id, 11, 7)


def test_turn_with_too_many_steps_is_stopped(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat.limits.MAX_STEPS_PER_TURN", 2)
    call = {"name": "no_such_tool", "arguments": {}}
    turn = send({"steps": [{"tool_calls": [call]}] * 5})
    assert (turn.status, turn.end_reason) == ("failed", "too_many_steps")


def test_devices_hear_that_a_message_became_part_of_the_running_answer(
    session: Session, model: OfflineServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = FakeWorker(turns.submit(session, turns.Input(text="one")).turn)
    steer = turns.submit(session, turns.Input(text="two", while_running="steer")).turn
    rung: list[tuple[str, str, str]] = []

    def ring(owner: str, kind: str, **data: Any) -> None:
        rung.append((kind, data["turn_id"], data["end_reason"]))

    monkeypatch.setattr("durable.client_push.push", ring)
    journal.absorb_queued(worker.turn, worker.lease, 1)
    assert rung == [("turn.finished", str(steer.pk), "steered")]
