"""What ends is announced with its end: once per endpoint, to those who asked, and never without it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from accounts.models import User
from chat import sessions, turns
from chat.engine import journal
from chat.models import Session, Turn
from copilot_project.launcher import services
from durable import jobs
from durable.ids import new_id
from tests.webhooks.conftest import work
from tests.webhooks.receiver import Receiver, verify
from tools.models import Operation
from tools.operations.completion import complete
from webhooks import endpoints, limits
from webhooks.deliveries import announce
from webhooks.endpoints import WithSecret
from webhooks.events import EventType, encode, fitting
from webhooks.models import WebhookDelivery

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(ada: User) -> Session:
    return Session.objects.create(user=ada)


def send(session: Session, text: str = "Hello", **more: Any) -> Turn:
    return turns.submit(session, turns.Input(text=text, **more)).turn


def new_operation(session: Session, **fields: Any) -> Operation:
    return Operation.objects.create(
        status="waiting",
        key=f"key-{new_id()}",
        session_id=session.pk,
        turn_id=new_id(),
        step=0,
        user=session.user,
        call_id="c1",
        tool_name="test_operation",
        arguments={},
        fingerprint="f",
        **fields,
    )


# --- turns --------------------------------------------------------------------------------------------


def test_a_turn_that_ended_is_announced_with_its_words(
    session: Session, made: WithSecret, receiver: Receiver
) -> None:
    turn = send(session, client_id="mine")
    lease = jobs.claim(Turn, turn.pk, owner="w")
    assert lease is not None
    turn.steps.create(number=0, attempt=1, parts=[{"kind": "text", "text": "Here you are."}])
    lease.finish(Turn.COMPLETED, reason="done")
    work(WebhookDelivery.objects.get())
    data = verify(made.secret, receiver.messages[0])["data"]
    assert (data["turn_id"], data["session_id"]) == (str(turn.pk), str(session.pk))
    assert (data["status"], data["end_reason"], data["text"]) == ("completed", "done", "Here you are.")
    assert (data["client_id"], data["error"], data["usage"]["input_tokens"]) == ("mine", None, 0)
    assert data["ended_at"] and data["url"].endswith(f"/api/turns/{turn.pk}")


def test_a_turn_that_nobody_ran_to_its_end_is_announced_too(session: Session, made: WithSecret) -> None:
    turns.stop(send(session))
    delivery = WebhookDelivery.objects.get()
    assert (delivery.event_type, delivery.payload["data"]["status"]) == ("turn.finished", "cancelled")


def test_an_input_that_became_part_of_another_turn_says_of_which(session: Session, made: WithSecret) -> None:
    running = send(session)
    lease = jobs.claim(Turn, running.pk, owner="w")
    assert lease is not None
    steer = send(session, "no, differently", while_running="steer")
    journal.absorb_queued(running, lease, 1)
    [delivery] = WebhookDelivery.objects.all()
    data = delivery.payload["data"]
    assert (data["turn_id"], data["end_reason"], data["absorbed_by"]) == (
        str(steer.pk),
        "steered",
        str(running.pk),
    )


def test_with_a_conversation_what_was_told_of_it_is_deleted(
    session: Session, made: WithSecret, receiver: Receiver
) -> None:
    other, deleted_id = Session.objects.create(user=session.user), str(session.pk)
    for place in (session, other):
        turns.stop(send(place))
    for delivery in WebhookDelivery.objects.all():
        work(delivery)
    send(session)  # is stopped by the deletion, and that is still told
    sessions.delete(session)
    left = {
        delivery.payload["data"]["session_id"]: delivery.status for delivery in WebhookDelivery.objects.all()
    }
    assert left == {str(other.pk): "completed", deleted_id: "queued"}


# --- operations ---------------------------------------------------------------------------------------


def test_five_completions_are_one_delivery(session: Session, made: WithSecret) -> None:
    operation = new_operation(session)
    for by in ("webhook", "stream", "webhook", "stream", "webhook"):
        complete(operation_id=operation.pk, success=True, result={"made": 1}, by=by)
    [delivery] = WebhookDelivery.objects.all()
    data = delivery.payload["data"]
    assert delivery.event_id == f"operation_{operation.pk.hex}"
    assert (data["status"], data["result"], data["tool_name"]) == ("completed", {"made": 1}, "test_operation")


def test_a_failed_operation_says_why(session: Session, made: WithSecret) -> None:
    complete(operation_id=new_operation(session).pk, success=False, error="No paper.", by="webhook")
    data = WebhookDelivery.objects.get().payload["data"]
    assert (data["status"], data["error"], data["result"]) == ("failed", "No paper.", None)


# --- any job ------------------------------------------------------------------------------------------


def say(user: User | None, subject: Any, **data: Any) -> None:
    announce(
        user_id=user.pk if user else None,
        event_type=EventType.EXECUTION_FINISHED,
        subject_id=subject,
        describe=lambda: data,
    )


def test_announced_twice_is_delivered_once_per_endpoint(
    ada: User, made: WithSecret, receiver: Receiver
) -> None:
    endpoints.create(ada, url=receiver.url, events=["execution.finished"])
    subject = new_id()
    say(ada, subject)
    say(ada, subject)
    assert WebhookDelivery.objects.count() == 2
    assert len(set(WebhookDelivery.objects.values_list("endpoint", flat=True))) == 2


def test_it_happens_with_the_end_or_not_at_all(ada: User, made: WithSecret) -> None:
    class Broken(Exception):
        pass

    with pytest.raises(Broken), transaction.atomic():
        say(ada, new_id())
        raise Broken
    assert not WebhookDelivery.objects.exists()


def test_the_poke_waits_for_the_commit(
    ada: User, made: WithSecret, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        say(ada, new_id())
    assert len(callbacks) == 1
    assert jobs.to_poke(WebhookDelivery).count() == 0, "it was poked; the sweep comes only when that was lost"


def test_only_enabled_endpoints_that_asked_for_it_hear_of_it(
    ada: User, bob: User, made: WithSecret, receiver: Receiver
) -> None:
    endpoints.create(ada, url=receiver.url, events=["turn.finished"])
    endpoints.create(bob, url=receiver.url, events=["execution.finished"])
    off = endpoints.create(ada, url=receiver.url, events=["execution.finished"]).endpoint
    endpoints.change(off, enabled=False)
    say(ada, new_id())
    say(None, new_id())
    assert WebhookDelivery.objects.get().endpoint == made.endpoint


def test_nobody_is_asked_to_describe_what_nobody_wants_to_hear(bob: User) -> None:
    def describe() -> dict[str, Any]:
        raise AssertionError("asked in vain")

    announce(user_id=bob.pk, event_type=EventType.TURN_FINISHED, subject_id=new_id(), describe=describe)


def test_too_much_is_left_out_and_named() -> None:
    small = {"id": "1", "text": "x"}
    assert fitting(small) == small
    cut = fitting(small | {"result": ["y" * 100_000], "other": "z" * 80_000})
    assert cut == small | {"left_out": ["result", "other"]}
    assert len(encode(cut)) <= limits.MAX_WEBHOOK_BYTES


def test_every_kind_of_job_has_a_worker_that_serves_its_queue() -> None:
    queues = {model.queue for model in jobs.job_models() if not model.__module__.startswith("tests.")}
    assert queues <= {"turns", "executions", *services.OPERATION_QUEUES}
