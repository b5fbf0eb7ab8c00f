"""Requests find their conversation, are joined when they are repeated, and keep to the limits of their key."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.api_keys import make_key
from chat import sessions
from chat.models import Message, Session, Turn
from chat.turn_options import TurnOptions
from doors.openai import chat_request, model_names, submission
from doors.openai.access import Caller, authenticate, count_request
from doors.openai.errors import InvalidKey, OutOfQuota, TooFast, UnknownModel, UnusableRequest
from doors.openai.identity import RequestIdentity, identify
from tools.models import Operation
from tools.operations.start import client_operation_id

pytestmark = pytest.mark.django_db


def new(name: str, **changes: Any) -> RequestIdentity:
    return replace(RequestIdentity(key=name, body_hash=name, is_explicit=False, repeats=False), **changes)


def ask(
    caller: Caller, *messages: tuple[str, str], identity: str = "x", named: str = "", **body: Any
) -> Turn:
    said = [{"role": role, "content": content} for role, content in messages]
    asked = chat_request.read({"model": "copilot", "messages": said, **body})
    return submission.submit(caller, asked, new(identity), named=named).turn


def end(turn: Turn, text: str) -> None:
    Turn.objects.filter(pk=turn.pk).update(status=Turn.COMPLETED)
    Message.objects.filter(pk=turn.answer_id).update(text=text)


def test_same_history_goes_on_in_its_session_and_another_is_taken_as_it_is(caller: Caller) -> None:
    first = ask(caller, ("user", "One"), identity="a")
    end(first, "Answer")
    second = ask(caller, ("user", "One"), ("assistant", "Answer"), ("user", "Two"), identity="b")
    assert second.session_id == first.session_id
    again = ask(caller, ("user", "One"), ("assistant", "Answer"), ("user", "Three"), identity="c")
    assert again.session_id != first.session_id  # the first session has gone on
    given = Session.objects.get(pk=again.session_id).given_history
    assert given == [{"role": "user", "content": "One"}, {"role": "assistant", "content": "Answer"}]


def test_named_session_takes_the_history_of_the_client_when_it_differs(caller: Caller) -> None:
    first = ask(caller, ("user", "One"), identity="a", named="my-chat")
    end(first, "Answer")
    same = ask(
        caller, ("user", "One"), ("assistant", "Answer"), ("user", "Two"), identity="b", named="my-chat"
    )
    assert Turn.objects.get(pk=first.pk).superseded_at is None
    end(same, "More")
    edited = ask(
        caller, ("user", "Changed"), ("assistant", "Yes"), ("user", "Two"), identity="c", named="my-chat"
    )
    assert edited.session_id == first.session_id
    assert Turn.objects.get(pk=first.pk).superseded_at is not None
    assert Session.objects.get(pk=first.session_id).expires_at is None
    with pytest.raises(UnusableRequest):
        ask(caller, ("user", "x"), identity="d", named="a/b")


def test_hidden_sessions_are_deleted_after_a_day_unless_a_result_is_awaited(caller: Caller) -> None:
    kept = ask(caller, ("user", "Waits"), identity="a")
    gone = ask(caller, ("user", "Ends"), identity="b")
    named = ask(caller, ("user", "Stays"), identity="c", named="a name")
    Operation.objects.create(
        id=client_operation_id("k"),
        key="k",
        status=Operation.WAITING,
        session_id=kept.session_id,
        turn_id=kept.pk,
        step=0,
        user=caller.user,
        call_id="c",
        tool_name="look",
        arguments={},
        fingerprint="",
        for_client=True,
    )
    Turn.objects.update(status=Turn.COMPLETED)
    assert sessions.delete_expired(100) == 0
    Session.objects.exclude(expires_at=None).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert sessions.delete_expired(100) == 1
    left = set(Session.objects.values_list("pk", flat=True))
    assert left == {kept.session_id, named.session_id}
    assert not Turn.objects.filter(pk=gone.pk).exists()


def test_retry_joins_and_the_same_question_again_does_not(caller: Caller) -> None:
    asked = chat_request.read({"model": "copilot", "messages": [{"role": "user", "content": "Hi"}]})
    first = submission.submit(caller, asked, new("a"))
    retried = submission.submit(caller, asked, new("a", repeats=True))
    assert (retried.turn.pk, retried.created) == (first.turn.pk, False)
    second = submission.submit(caller, asked, new("a"))
    assert second.turn.pk != first.turn.pk
    joined = submission.submit(caller, asked, new("a", repeats=True))
    assert joined.turn.pk == second.turn.pk
    explicit = new("key", is_explicit=True, repeats=True)
    one = submission.submit(caller, asked, explicit)
    assert submission.submit(caller, asked, explicit).turn.pk == one.turn.pk
    with pytest.raises(UnusableRequest) as reused:
        submission.submit(caller, asked, replace(explicit, body_hash="another body"))
    assert reused.value.code == "idempotency_key_reused"


def test_identity_is_the_key_else_the_body() -> None:
    plain = identify("/v1/responses", b"{}", {}, {})
    assert (plain.repeats, plain.is_explicit) == (False, False)
    assert identify("/v1/responses", b"{}", {"X-Stainless-Retry-Count": "2"}, {}).repeats
    assert not identify("/v1/responses", b"{}", {"X-Stainless-Retry-Count": "²"}, {}).repeats
    assert identify("/v1/responses", b"{}", {"Idempotency-Key": "a"}, {}).key != plain.key
    assert identify("/v1/responses", b"{}", {}, {"client_id": "a"}).is_explicit
    with pytest.raises(UnusableRequest):
        identify("/v1/responses", b"{}", {"Idempotency-Key": "a" * 300}, {})


# --- keys -----------------------------------------------------------------------------------------


def limited(caller: Caller, **limits: Any) -> Caller:
    key, _ = make_key(caller.user, "limited", **limits)
    return Caller(user=caller.user, key=key)


def test_key_uses_only_its_models_and_tools(caller: Caller) -> None:
    mine = limited(caller, allowed_models=["copilot/*"], allowed_tools=["find_block"])
    with pytest.raises(UnknownModel):
        model_names.find(mine, "copilot")
    assert "copilot" not in [model.id for model in model_names.listed(mine)]
    turn = ask(limited(caller, allowed_tools=["find_block"]), ("user", "Hi"), identity="a")
    assert turn.permissions == {"tools": {"allow": ["find_block"]}}
    assert ask(caller, ("user", "Hi"), identity="b").permissions is None


def test_key_over_its_rate_waits(caller: Caller, redis_server: object) -> None:
    slow = limited(caller, requests_per_minute=2)
    count_request(slow)
    count_request(slow)
    with pytest.raises(TooFast) as error:
        count_request(slow)
    assert error.value.retry_after


def test_key_over_its_budget_is_out_of_quota(caller: Caller) -> None:
    poor = limited(caller, day_limit=Decimal("0.5"))
    turn = ask(poor, ("user", "Hi"), identity="a")
    Turn.objects.filter(pk=turn.pk).update(cost=Decimal("0.6"), status=Turn.COMPLETED)
    with pytest.raises(OutOfQuota) as error:
        ask(poor, ("user", "Hi"), identity="b")
    assert "API key" in error.value.message
    assert ask(caller, ("user", "Hi"), identity="c").pk  # another key of the same person


def test_unknown_keys_are_refused(caller: Caller) -> None:
    _, key = make_key(caller.user, "mine")
    assert authenticate({"Authorization": f"Bearer {key}"}).user == caller.user
    for header in ("", key, "Bearer rk_wrong", "Basic abc"):
        with pytest.raises(InvalidKey):
            authenticate({"Authorization": header})


def test_options_survive_being_stored() -> None:
    asked = chat_request.read(
        {
            "model": "copilot",
            "messages": [{"role": "system", "content": "Brief."}, {"role": "user", "content": "Hi"}],
            "tools": [{"type": "function", "function": {"name": "look"}}],
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "temperature": 0,
        }
    )
    stored = Turn(options=asked.options.as_json())
    assert TurnOptions.of(stored) == asked.options
    assert asked.options.choice_at(0) == "required"
    assert asked.options.choice_at(1) is None
    assert TurnOptions(tool_choice="none").offered([]) == []
