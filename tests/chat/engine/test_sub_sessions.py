"""Tasks handed to sessions of their own: waited for, told of, stopped with their parent, never twice."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from pytest_django import Settings

from accounts.models import User
from chat import admission, tasks, turns
from chat import limits as chat_limits
from chat.engine.run import Answering
from chat.models import Session, Turn, TurnWait
from chat.sessions import Owner
from chat.sub_sessions import delegate
from durable import event_log
from durable.event_log import START
from tests.chat.engine.conftest import run_turn
from tests.offline_server import OfflineServer
from tools import limits
from tools.dispatch import cancel_call
from tools.models import ToolCall, calls_of
from tools.permissions import Permissions

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Turn]


@pytest.fixture(autouse=True)
def lend_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker runs beside these tests: a turn that is waited for runs in its waiter's place."""
    assert tasks.run_turn.name == Turn.task_name
    monkeypatch.setattr(chat_limits, "EXTRA_THREAD_SECONDS", 0.0)


def script(*steps: dict[str, Any], **more: Any) -> str:
    return "SCRIPT:\n" + json.dumps({"steps": list(steps), **more})


def call(name: str, call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"id": call_id, "name": name, "arguments": arguments}]}


def give_task(prompt: str, call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return call("run_sub_session", call_id, prompt=prompt, **more)


def result_of(turn: Turn, number: int = 0) -> dict[str, Any]:
    result = list(calls_of(turn.pk))[number].result
    assert isinstance(result, dict)
    return result


def children(session: Session) -> list[Session]:
    return list(Session.objects.filter(parent=session).order_by("created_at"))


def test_a_task_is_answered_with_text_tool_calls_and_usage(send: Send, session: Session) -> None:
    child = script(
        {"text": "I look.", **call("test_pure", value="x")}, {"text": "The answer is 42.", "usage": USAGE}
    )
    turn = send(script(give_task(child), {"text": "It says 42."}))
    assert turn.end_reason == "done"
    result = result_of(turn)
    assert (result["type"], result["status"]) == ("sub_session_status", "completed")
    assert result["response"] == "I look.\n\nThe answer is 42."
    assert [used["tool_name"] for used in result["tool_calls"]] == ["test_pure"]
    assert result["tool_calls"][0]["success"] is True
    assert result["usage"]["output_tokens"] >= USAGE["completion_tokens"]
    (made,) = children(session)
    assert (result["sub_session_id"], result["link"]) == (str(made.pk), f"/c/{made.pk}")
    assert (made.depth, made.user_id, made.turns.count()) == (1, session.user_id, 1)
    assert not TurnWait.objects.exists()


USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def test_what_it_should_know_first_reaches_the_model_of_the_child(send: Send, model: OfflineServer) -> None:
    send(script(give_task("What is it?", system_context="The password is swordfish."), {"text": "ok"}))
    texts = [
        json.dumps(request.body) for request in model.requests if "What is it?" in json.dumps(request.body)
    ]
    assert any("The password is swordfish." in text for text in texts)


def test_what_the_child_does_is_seen_on_the_parents_stream(send: Send, session: Session) -> None:
    child = script(call("test_sleep", seconds=1), {"text": "Rested."})
    turn = send(script(give_task(child), {"text": "ok"}))
    shown = [json.loads(entry.body) for entry in event_log.tail(turn.pk, START)]
    hints = [chunk["output"] for chunk in shown if chunk.get("preliminary")]
    assert {hint["sub_session_id"] for hint in hints} == {str(children(session)[0].pk)}
    assert any("test_sleep" in hint["doing"] for hint in hints)
    assert all(hint["status"] == "running" for hint in hints)


def test_without_waiting_the_answer_comes_at_once_with_a_handle(send: Send, session: Session) -> None:
    turn = send(script(give_task("count to 5", wait_for_result=0), {"text": "started"}))
    result = result_of(turn)
    assert (result["status"], result["response"]) == ("running", "")
    assert "get_sub_session_result" in result["next_step"]
    (child,) = children(session)
    assert child.turns.get().status == "queued"


def test_a_later_call_waits_for_it_and_reads_it(send: Send, session: Session) -> None:
    send(script(give_task(script({"text": "Done at last."}), wait_for_result=0), {"text": "started"}))
    (child,) = children(session)
    turn = send(script(call("get_sub_session_result", sub_session_id=str(child.pk)), {"text": "ok"}))
    assert (result_of(turn)["status"], result_of(turn)["response"]) == ("completed", "Done at last.")


def test_a_sub_session_goes_on_with_another_task(send: Send, session: Session) -> None:
    send(script(give_task(script({"text": "One."})), {"text": "ok"}))
    (child,) = children(session)
    again = give_task(script({"text": "Two."}), sub_session_id=str(child.pk))
    turn = send(script(again, {"text": "ok"}))
    assert (result_of(turn)["response"], result_of(turn)["sub_session_id"]) == ("Two.", str(child.pk))
    assert child.turns.count() == 2 and len(children(session)) == 1


def test_a_failed_child_is_told_with_its_reason(send: Send) -> None:
    child = script({"text": "half", "fault": {"status": 401, "times": None}})
    turn = send(script(give_task(child), {"text": "it failed"}))
    assert (turn.end_reason, result_of(turn)["status"]) == ("done", "failed")
    assert "OPENAI_API_KEY" in result_of(turn)["message"]


def test_several_at_once_run_side_by_side_and_keep_apart(send: Send, session: Session) -> None:
    both = {
        "tool_calls": [
            {
                "id": f"c{n}",
                "name": "run_sub_session",
                "arguments": {"prompt": script({"text": f"child {n}"})},
            }
            for n in range(3)
        ]
    }
    turn = send(script(both, {"text": "ok"}))
    assert [result_of(turn, n)["response"] for n in range(3)] == ["child 0", "child 1", "child 2"]
    assert len(children(session)) == 3


# --- limits -----------------------------------------------------------------------------------------


def test_room_for_one_turn_is_enough_for_a_turn_that_waits_for_its_child_and_grandchild(
    send: Send, session: Session, settings: Settings
) -> None:
    settings.COPILOT_MAX_RUNNING_TURNS_PER_USER = 1
    grandchild = script({"text": "deep"})
    child = script(give_task(grandchild), {"text": "from below: deep"})
    turn = send(script(give_task(child), {"text": "ok"}))
    assert (turn.end_reason, result_of(turn)["status"]) == ("done", "completed")
    assert result_of(turn)["response"] == "from below: deep"


def test_a_waiting_turn_makes_room_and_a_child_takes_it(session: Session, settings: Settings) -> None:
    settings.COPILOT_MAX_RUNNING_TURNS_PER_USER = 1
    waiter = Turn.objects.create(session=session, user=session.user, status="running")
    other = Session.objects.create(user=session.user)
    child = Turn.objects.create(session=other, user=session.user, status="queued")
    assert admission.next_up(session) == []
    wait = TurnWait.objects.create(turn=waiter, key="k", attempt=1, job_id=child.pk)
    assert admission.next_up(session) == [child.pk] and admission.may_start(child.pk)
    assert child.pk in admission.startable(Turn.objects.filter(status="queued")).values_list("pk", flat=True)
    Turn.objects.filter(pk=child.pk).update(status="running")
    third = Turn.objects.create(
        session=Session.objects.create(user=session.user), user=session.user, status="queued"
    )
    assert admission.next_up(session) == [] and not admission.may_start(third.pk)
    Turn.objects.filter(pk=child.pk).update(status="completed")
    wait.delete()
    assert admission.next_up(session) == []


def test_children_count_against_the_in_flight_limit(send: Send, session: Session, settings: Settings) -> None:
    settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER = 1
    turn = send(script(give_task("one too many"), {"text": "ok"}))
    assert (result_of(turn)["type"], result_of(turn)["error"]) == ("error", "too_many_turns")
    assert children(session) == []


def test_a_child_may_use_at_most_what_its_parent_may(send: Send, session: Session) -> None:
    session.permissions = {"tools": {"allow": ["run_sub_session"], "deny": ["test_pure"]}, "blocks": {}}
    session.save()
    child = script(call("test_pure"), call("add_understanding", "c2", industry="bakery"), {"text": "no"})
    turn = send(script(give_task(child), {"text": "ok"}))
    used = result_of(turn)["tool_calls"]
    assert [one["success"] for one in used] == [False, False]
    assert all("not permitted" in one["message"] for one in used)


def test_going_on_in_a_session_with_more_rights_does_not_give_them(session: Session) -> None:
    wide = Session.objects.create(user=session.user, parent=session, depth=1)
    order = delegate.TaskRequest(
        key="k",
        owner=Owner(user=session.user),
        prompt="x",
        parent=session,
        permissions=Permissions.parse({"tools": {"deny": ["bash_exec"]}}),
        continues=str(wide.pk),
    )
    turn = delegate.start(order)
    answering = Answering(turn, None, None)  # type: ignore[arg-type]
    assert not answering.permissions.allows_tool("bash_exec") and answering.permissions.allows_tool(
        "web_fetch"
    )


def test_the_fourth_level_is_refused(send: Send, session: Session) -> None:
    session.depth = limits.MAX_SESSION_DEPTH
    session.save()
    turn = send(script(give_task("deeper"), {"text": "ok"}))
    assert result_of(turn)["error"] == "too_deep"
    assert children(session) == []


# --- whose it is ------------------------------------------------------------------------------------


def unreachable(session: Session) -> Iterator[tuple[str, str]]:
    stranger = Session.objects.create(user=User.objects.create_user("bob"), depth=1)
    own = Session.objects.create(user=session.user)
    parent = Session.objects.create(user=session.user)
    Session.objects.filter(pk=session.pk).update(parent=parent, depth=1)
    for other in (stranger, own, parent, session):
        Turn.objects.create(session=other, user=other.user, status="completed")
    yield "a stranger's", str(stranger.pk)
    yield "one's own that is no sub-session", str(own.pk)
    yield "the parent, which would wait for itself", str(parent.pk)
    yield "the conversation itself", str(session.pk)
    yield "one that does not exist", str(uuid.uuid4())
    yield "no id at all", "the one from yesterday"


def test_only_sub_sessions_of_this_conversation_can_be_reached(send: Send, session: Session) -> None:
    for what, name in unreachable(session):
        asked = [
            give_task("x", "c1", sub_session_id=name),
            call("get_sub_session_result", "c2", sub_session_id=name),
            call("get_sub_session_result", "c3", sub_session_id=name, cancel=True),
        ]
        turn = send(script({"tool_calls": [one["tool_calls"][0] for one in asked]}, {"text": "ok"}))
        assert {result_of(turn, n)["error"] for n in range(3)} == {"unknown_sub_session"}, what


# --- cancel -----------------------------------------------------------------------------------------


def start_in_background(turn: Turn) -> threading.Thread:
    def work() -> None:
        try:
            run_turn(turn)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def eventually(look: Callable[[], Any]) -> Any:
    gone = threading.Event()
    for _ in range(1500):
        if found := look():
            return found
        gone.wait(0.02)
    raise AssertionError("It did not come.")


def running_child(session: Session) -> Turn | None:
    return Turn.objects.filter(session__parent=session, status="running").first()


def test_cancelling_the_parent_cancels_the_child_and_grandchild_it_waits_for(
    session: Session, model: OfflineServer
) -> None:
    grandchild = script(call("test_sleep", seconds=100), {"text": "never"})
    child = script(give_task(grandchild), {"text": "never"})
    turn = turns.submit(session, turns.Input(text=script(give_task(child), {"text": "never"}))).turn
    thread = start_in_background(turn)
    below = eventually(lambda: running_child(session))
    deepest = eventually(lambda: running_child(below.session))
    assert turns.cancel(turn).cancelled
    thread.join(20)
    for one in (turn, below, deepest):
        assert eventually(Turn.objects.filter(pk=one.pk, status="cancelled").exists)
    assert not TurnWait.objects.exists()


def test_stopping_one_call_stops_its_child_and_the_turn_goes_on(
    session: Session, model: OfflineServer
) -> None:
    child = script(call("test_sleep", seconds=100), {"text": "never"})
    turn = turns.submit(session, turns.Input(text=script(give_task(child), {"text": "went on"}))).turn
    thread = start_in_background(turn)
    below = eventually(lambda: running_child(session))
    assert cancel_call(calls_of(turn.pk).get().key)
    thread.join(20)
    turn.refresh_from_db()
    assert turn.end_reason == "done" and calls_of(turn.pk).get().state == ToolCall.State.CANCELLED
    assert eventually(Turn.objects.filter(pk=below.pk, status="cancelled").exists)


def test_a_parent_that_died_while_it_waited_takes_its_child_along(session: Session) -> None:
    """No worker holds it any more; whoever ends the turn finds in the rows whom it waited for."""
    waiter = Turn.objects.create(session=session, user=session.user, status="running", attempt=1)
    child = Turn.objects.create(
        session=Session.objects.create(user=session.user, parent=session, depth=1),
        user=session.user,
        status="queued",
    )
    TurnWait.objects.create(turn=waiter, key="k", attempt=1, job_id=child.pk)
    turns.cancel(waiter)
    child.refresh_from_db()
    assert child.status == "cancelled" and not TurnWait.objects.exists()


def test_a_child_nobody_waits_for_outlives_its_parent(session: Session, send: Send) -> None:
    send(script(give_task("count to 3", wait_for_result=0), {"text": "started"}))
    (child,) = children(session)
    again = turns.submit(session, turns.Input(text="hello")).turn
    turns.cancel(again)
    assert child.turns.get().status == "queued"


def test_the_model_cancels_a_sub_session(send: Send, session: Session) -> None:
    send(script(give_task("count to 3", wait_for_result=0), {"text": "started"}))
    (child,) = children(session)
    asked = call("get_sub_session_result", sub_session_id=str(child.pk), cancel=True)
    turn = send(script(asked, {"text": "stopped"}))
    assert result_of(turn)["status"] == "cancelled"
    assert child.turns.get().status == "cancelled"


# --- taken over -------------------------------------------------------------------------------------


def test_the_same_call_again_finds_the_same_session_and_turn(session: Session) -> None:
    def order() -> delegate.TaskRequest:
        owner = Owner(user=session.user)
        return delegate.TaskRequest(
            key="turn:0:c1", owner=owner, prompt="x", parent=session, permissions=Permissions()
        )

    first, second = delegate.start(order()), delegate.start(order())
    assert first.pk == second.pk and first.session_id == second.session_id
    assert len(children(session)) == 1


def test_a_session_opened_before_a_crash_gets_its_task_after_it(session: Session) -> None:
    order = delegate.TaskRequest(
        key="k",
        owner=Owner(user=session.user),
        prompt="x",
        parent=session,
        permissions=Permissions(),
    )
    opened = delegate.find_or_create(order)
    assert delegate.start(order).session_id == opened.pk
    assert opened.turns.count() == 1


def test_a_name_that_is_taken_by_somebody_else_is_not_found(session: Session) -> None:
    order = delegate.TaskRequest(
        key="k",
        owner=Owner(user=session.user),
        prompt="x",
        parent=session,
        permissions=Permissions(),
    )
    Session.objects.create(pk=order.name, user=User.objects.create_user("bob"))
    with pytest.raises(delegate.NoSuchSession):
        delegate.start(order)
