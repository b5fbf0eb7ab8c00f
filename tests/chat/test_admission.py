"""Which turn goes next: what a claim admits and what a sweep pokes must agree, or a turn could wait for ever."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from accounts.models import User
from chat import admission, turns
from chat.models import Session, Turn
from durable import jobs
from durable.signals import swept

pytestmark = pytest.mark.django_db


def queued(session: Session, **more: object) -> Turn:
    return Turn.objects.create(session=session, user=session.user, status="queued", **more)


def poked() -> set[object]:
    return set(jobs.to_poke(Turn).values_list("pk", flat=True))


@pytest.fixture
def session() -> Session:
    return Session.objects.create(user=User.objects.create_user("ann"))


def test_first_of_a_session_goes_first(session: Session) -> None:
    first, second = queued(session), queued(session)
    assert admission.next_up(session) == [first.pk]
    assert poked() == {first.pk}
    assert admission.may_start(first.pk) and not admission.may_start(second.pk)


def test_interrupting_input_goes_before_those_queued_earlier(session: Session) -> None:
    queued(session)
    urgent = queued(session, mode="interrupt", priority=1)
    assert admission.next_up(session) == [urgent.pk]
    assert poked() == {urgent.pk}


def test_what_an_input_interrupts_is_stopped_although_who_accepted_it_died(session: Session) -> None:
    running = Turn.objects.create(session=session, user=session.user, status="running", owner="w")
    urgent = turns.accept(session, turns.Input(text="now", while_running="interrupt"))  # and no more
    swept.send(sender=None, queues={"executions"})
    running.refresh_from_db()
    assert running.cancel_requested_at is None, "a worker of other queues has nothing to do with it"
    swept.send(sender=None, queues={"turns"})
    running.refresh_from_db()
    assert running.cancel_requested_at is not None
    assert urgent.interrupts == running


def test_an_interrupting_input_leaves_what_started_after_it_in_peace(session: Session) -> None:
    first = Turn.objects.create(session=session, user=session.user, status="running", owner="w")
    second = turns.accept(session, turns.Input(text="now", while_running="interrupt"))
    turns.accept(session, turns.Input(text="and now", while_running="interrupt"))
    Turn.objects.filter(pk=first.pk).update(status="cancelled")
    Turn.objects.filter(pk=second.pk).update(status="running")
    swept.send(sender=None, queues={"turns"})
    second.refresh_from_db()
    assert second.cancel_requested_at is None


def test_nothing_of_a_session_is_poked_while_one_of_its_turns_runs(session: Session) -> None:
    Turn.objects.create(session=session, user=session.user, status="waiting")
    waiting = queued(session)
    assert admission.next_up(session) == [] and poked() == set()
    assert not admission.may_start(waiting.pk)


def test_user_without_room_is_left_in_peace_and_others_go(session: Session, settings: Settings) -> None:
    settings.COPILOT_MAX_RUNNING_TURNS_PER_USER = 1
    busy = Session.objects.create(user=session.user)
    Turn.objects.create(session=busy, user=busy.user, status="running")
    over = queued(session)
    other = queued(Session.objects.create(user=User.objects.create_user("bob")))
    assert admission.next_up(session) == []
    assert poked() & {over.pk, other.pk} == {other.pk}
    Turn.objects.filter(session=busy).update(status="completed")
    assert poked() & {over.pk, other.pk} == {over.pk, other.pk}


def test_an_end_pokes_what_it_made_room_for_and_no_more(session: Session, settings: Settings) -> None:
    settings.COPILOT_MAX_RUNNING_TURNS_PER_USER = 2
    others = [queued(Session.objects.create(user=session.user)) for _ in range(3)]
    assert admission.next_after(session) == [others[1].pk], (
        "the first could start before, the third cannot now"
    )
    settings.COPILOT_MAX_RUNNING_TURNS_PER_USER = 10
    assert admission.next_after(session) == [], "all of them could start before"
    follower = queued(session)
    assert admission.next_after(session) == [follower.pk]
