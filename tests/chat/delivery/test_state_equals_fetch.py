"""State from events == state from fetch: for every kind of event, and however the stream was read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, get_args

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from chat import turn_log, turns
from chat.delivery import reader
from chat.engine import journal
from chat.events import ExecutionUpdate, FilesSeen, Steered, ToolInputDelta, ToolOutput, TurnEvent
from chat.models import Message, Session, Turn
from chat.protocol import Framed
from durable import jobs
from durable.ids import new_id
from durable.redis import client as redis
from executions.models import Review
from executions.reviews.decisions import decide
from tests.chat.delivery.fake_worker import FakeWorker, answer
from tests.chat.delivery.test_reader import collect
from tests.chat.delivery.ui_reducer import Reducer
from tools.models import Operation

Scenario = Callable[[Turn, Callable[..., Turn]], None]


def plain_text(turn: Turn, send: Callable[..., Turn]) -> None:
    answer(turn, "Hello", " wörld", " \U0001f600\u2028\n")


def reasoning_and_text(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("Let me", " see", kind="reasoning")
    worker.say("It is", " so")
    worker.finish()


def tools_of_all_kinds(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("Looking")
    for call_id in ("good", "bad", "odd"):
        worker.ask_for(call_id, "look", '{"at": [1, {"deep": null}]}' if call_id != "odd" else "{not json")
        worker.emit(ToolInputDelta(call_id, '{"at"'))
    worker.commit_step()
    worker.lease.emitter.hint(Framed(ToolOutput("good", {"progress": 0.5}, preliminary=True)))
    worker.answer_call("good", {"type": "seen", "message": 'data: {"type":"finish"}\n\n[DONE]'})
    worker.answer_call("bad", None, error="It failed.")
    worker.answer_call("odd", {"type": "error", "message": "not JSON"})
    worker.open_step()
    worker.say("Both are in")
    worker.finish()


def with_a_review(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.ask_for("c1", "run_block", "{}")
    worker.commit_step()
    asked = {"type": "review_required", "message": "A person must approve.", "review_id": str(new_id())}
    worker.answer_call("c1", asked)
    worker.open_step()
    worker.say("Please decide")
    worker.finish()


def steered(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("First")
    worker.ask_for("c1", "look", "{}")
    worker.commit_step()
    worker.answer_call("c1", {"n": 1})
    send("do it differently", while_running="steer")
    turn.session.refresh_from_db()
    journal.absorb_queued(turn, worker.lease, 1)
    message = Message.objects.get(steered_step=1)
    worker.open_step(Steered(str(message.pk), message.text))
    worker.say("As you wish")
    worker.finish()


def with_files_seen(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("A cat")
    worker.emit(FilesSeen(("0190-file",)))
    worker.finish(files_seen=["0190-file"])


def with_sources_and_files(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("Read, and drawn")
    url = "/api/files/0190/content#a%20chart.png"
    worker.finish(
        sources=[
            {"id": "1", "url": "https://a.example/", "title": "A"},
            {"id": "2", "url": "https://b", "title": ""},
        ],
        files_made=[{"url": url, "media_type": "image/png"}],
    )


def failed(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("Half an")
    worker.finish(Turn.FAILED, "model_error", "The model went away.")


def refused(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.finish(Turn.FAILED, "model_refused", "The model declined.")


def cancelled_while_queued(turn: Turn, send: Callable[..., Turn]) -> None:
    turns.cancel(turn)


def cancelled_by_force(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("Kept words")
    worker.ask_for("c1", "look", "{}")
    worker.commit_step()
    worker.settle()
    jobs.force_cancel(Turn, turn.pk)


def cancelled_while_a_call_was_written(turn: Turn, send: Callable[..., Turn]) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("Looking")
    worker.ask_for("c1", "look", "")
    worker.emit(ToolInputDelta("c1", '{"at": 1'))
    worker.settle()
    jobs.force_cancel(Turn, turn.pk)


def taken_over(turn: Turn, send: Callable[..., Turn]) -> None:
    first = FakeWorker(turn, owner="first")
    first.open_step()
    first.say("Kept")
    first.ask_for("c1", "look", "{}")
    first.commit_step()
    first.answer_call("c1", {"n": 1})
    first.open_step()
    first.say("Abandoned", apart=True)
    first.die()
    second = FakeWorker(turn, owner="second")
    second.open_step()
    second.say("Instead")
    second.finish()


def brought_about_by(turn: Turn, operation: Operation) -> None:
    Turn.objects.filter(pk=turn.pk).update(
        kind=Turn.Kind.CONTINUATION, client_id=turn_log.client_id_of(operation), note="It has ended."
    )
    turn.refresh_from_db()


def new_operation(turn: Turn, **fields: Any) -> Operation:
    values = {"status": "completed", "end_reason": "done", "progress": 1.0, "result": {"message": "Made."}}
    return Operation.objects.create(
        key=f"key-{turn.pk}",
        session_id=turn.session_id,
        turn_id=turn.pk,
        step=0,
        user=turn.user,
        call_id="c1",
        tool_name="make_report",
        arguments={},
        fingerprint="f",
        **(values | fields),
    )


def continued(turn: Turn, send: Callable[..., Turn]) -> None:
    operation = new_operation(turn)
    brought_about_by(turn, operation)
    worker = FakeWorker(turn)
    worker.lease.emitter.hint(Framed(turn_log.progress_event(operation, transient=True)))
    worker.open_step()
    worker.say("It came back")
    worker.finish()


def continued_and_taken_over(turn: Turn, send: Callable[..., Turn]) -> None:
    brought_about_by(turn, new_operation(turn, status="failed", error="No paper.", progress=0.25))
    first = FakeWorker(turn, owner="first")
    first.open_step()
    first.say("Abandoned", apart=True)
    first.die()
    second = FakeWorker(turn, owner="second")
    second.open_step()
    second.say("It failed")
    second.finish()


def continuation_cancelled_while_queued(turn: Turn, send: Callable[..., Turn]) -> None:
    brought_about_by(turn, new_operation(turn))
    turns.cancel(turn)


def waited_in_line(turn: Turn, send: Callable[..., Turn]) -> None:
    asyncio.run(collect(reader.read(turn.pk), until=bool))  # hears its place, and that is all for now
    plain_text(turn, send)


SCENARIOS: list[Scenario] = [
    waited_in_line,
    continued,
    continued_and_taken_over,
    continuation_cancelled_while_queued,
    plain_text,
    reasoning_and_text,
    tools_of_all_kinds,
    steered,
    with_files_seen,
    with_sources_and_files,
    failed,
    refused,
    cancelled_while_queued,
    cancelled_by_force,
    with_a_review,
    cancelled_while_a_call_was_written,
    taken_over,
]
NOT_SEEN_HERE = {"Absorbed"}  # of the input that became part of another turn, which has no answer of its own


def fetched(ada: User, session: Session, turn: Turn) -> dict[str, Any]:
    api = APIClient()
    api.force_authenticate(ada)
    messages: list[dict[str, Any]] = api.get(f"/api/sessions/{session.pk}").json()["messages"]
    return next(message for message in messages if message["id"] == str(turn.answer_id))


def as_message(reduced: Reducer) -> dict[str, Any]:
    """What is left of our own marks when a client drops what is not shown."""
    return {"id": reduced.id, "parts": reduced.parts, "metadata": reduced.metadata}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_client_that_read_the_stream_has_what_a_client_that_fetches_gets(
    scenario: Scenario, turn: Turn, send: Callable[..., Turn], ada: User, session: Session
) -> None:
    scenario(turn, send)
    fetch = fetched(ada, session, turn)
    error = fetch["metadata"].pop("error", None)
    expected = {name: fetch[name] for name in ("id", "parts", "metadata")}
    texts = [part["text"] for part in fetch["parts"] if part["type"] == "text"]
    assert fetch["content"] == "".join(texts)
    for make in (reader.read, reader.read_compact):
        for lose in (lambda: None, redis().flushall):
            lose()
            entries = asyncio.run(collect(make(turn.pk)))
            reduced = Reducer().hear_all(entry.body for entry in entries)
            assert (reduced.starts, reduced.finishes) == (1, 1)
            assert as_message(reduced) == expected
            assert reduced.error == error


def test_the_scenarios_know_every_event_there_is(
    send: Callable[..., Turn], ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    encode = Framed.encode

    def noting(framed: Framed) -> str:
        seen.add(type(framed.event).__name__)
        return encode(framed)

    monkeypatch.setattr(Framed, "encode", noting)
    for scenario in SCENARIOS:
        session = Session.objects.create(user=ada)

        def send_here(text: str = "Hello", here: Session = session, **more: Any) -> Turn:
            return turns.submit(here, turns.Input(text=text, **more)).turn

        scenario(send_here(), send_here)
    worker = FakeWorker(send())
    worker.hint("waiting")
    worker.lease.emitter.hint(Framed(ExecutionUpdate("e1", "RUNNING", {"n1": "COMPLETED"})))
    worker.finish()
    assert {kind.__name__ for kind in get_args(TurnEvent)} <= seen | NOT_SEEN_HERE


def test_a_client_in_the_middle_of_a_turn_has_what_was_committed(
    turn: Turn, ada: User, session: Session
) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("Looking")
    worker.ask_for("c1", "look", "{}")
    worker.commit_step()
    worker.settle()
    live = asyncio.run(
        collect(reader.read_compact(turn.pk), until=lambda entries: "tool-input" in entries[-1].body)
    )
    reduced = Reducer().hear_all(entry.body for entry in live)
    assert reduced.parts == fetched(ada, session, turn)["parts"]
    worker.answer_call("c1", {"n": 1})
    worker.finish()


def test_a_review_that_was_decided_is_fetched_with_its_decision(
    turn: Turn, ada: User, session: Session
) -> None:
    review = Review.objects.create(user=ada, key="k", name="Send it?", data=None)
    worker = FakeWorker(turn)
    worker.open_step()
    worker.ask_for("c1", "run_block", "{}")
    worker.commit_step()
    worker.answer_call("c1", {"type": "review_required", "message": "Wait.", "review_id": str(review.pk)})
    worker.finish()
    [part] = [part for part in fetched(ada, session, turn)["parts"] if part["type"] == "tool-run_block"]
    assert (part["state"], part["approval"]) == ("approval-requested", {"id": str(review.pk)})
    decide(review, approved=True, message="Fine.", by=ada)
    [part] = [part for part in fetched(ada, session, turn)["parts"] if part["type"] == "tool-run_block"]
    assert part["state"] == "approval-responded"
    assert part["approval"] == {"id": str(review.pk), "approved": True, "reason": "Fine."}
    assert part["output"]["type"] == "review_required"
