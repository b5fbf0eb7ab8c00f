"""What happens to one person's rows at the same moment, where rows have locks of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from django.db import connection, transaction

from accounts.models import User
from chat import admission, turns
from chat.engine import journal
from chat.errors import NotQueued
from chat.models import Message, Session, Turn
from durable import jobs
from durable.cancellation import CancelAnswer
from executions.models import Execution
from tests.executions.people import make_agent, make_execution

pytestmark = pytest.mark.usefixtures("redis_server")
WAIT = 120
T = TypeVar("T")
R = TypeVar("R")
NO_ROW_LOCKS = "SQLite locks the whole file; runs on PostgreSQL below"


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason=NO_ROW_LOCKS)
def test_a_message_is_accepted_while_a_turn_of_its_person_is_being_claimed() -> None:
    """A claim holds the person's row, for whom messages in other sessions need not wait."""
    session = Session.objects.create(user=User.objects.create_user("ann"))
    other = Session.objects.create(user=session.user)
    first = Turn.objects.create(session=session, user=session.user, status=Turn.QUEUED)
    claiming, accepted = threading.Event(), threading.Event()

    def claim() -> None:
        with transaction.atomic():
            admission.may_start(first.pk)
            claiming.set()
            accepted.wait(WAIT)
        connection.close()

    worker = threading.Thread(target=claim)
    worker.start()
    try:
        assert claiming.wait(WAIT)
        turn = turns.accept(other, turns.Input(text="and this"))
    finally:
        accepted.set()
        worker.join(WAIT)
    assert turn.status == Turn.QUEUED


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason=NO_ROW_LOCKS)
def test_a_message_that_comes_again_while_its_turn_is_being_claimed_is_the_same_turn() -> None:
    session = Session.objects.create(user=User.objects.create_user("ann"))
    first = Turn.objects.create(session=session, user=session.user, status=Turn.QUEUED, client_id="once")
    claiming = threading.Event()

    def claim() -> None:
        with transaction.atomic():
            admission.may_start(first.pk)
            Turn.objects.filter(pk=first.pk).update(status=Turn.RUNNING)
            claiming.set()
            time.sleep(0.5)  # by now the message stands in line
            first.session.reserve_seqs(1)
        connection.close()

    worker = threading.Thread(target=claim)
    worker.start()
    assert claiming.wait(WAIT)
    again = turns.submit(session, turns.Input(text="and this", client_id="once"))
    worker.join(WAIT)
    assert (again.created, again.turn.pk) == (False, first.pk)


def all_at_once(work: Callable[[T], R], things: Iterable[T], *, threads: int = 12) -> list[R]:
    """Do the same with each of them, as many at a time as there are threads; raises what any of them raised."""

    def run(thing: T) -> R:
        try:
            return work(thing)
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, things))


def queue(session: Session, *texts: str, mode: str = Turn.Mode.QUEUE) -> list[Turn]:
    return [turns.write(session, turns.Input(text=text, while_running=mode)) for text in texts]


def places(session: Session) -> list[int]:
    return [seq for seq in session.messages.order_by("seq").values_list("seq", flat=True) if seq is not None]


@pytest.mark.django_db(transaction=True)
def test_queued_messages_of_one_session_that_are_cancelled_at_the_same_moment_all_end() -> None:
    session = Session.objects.create(user=User.objects.create_user("ann"))
    queued = queue(session, *(f"message {number}" for number in range(36)))
    answers = all_at_once(turns.cancel, queued)
    assert answers == [CancelAnswer(cancelled=True)] * len(queued)
    assert set(session.turns.values_list("status", flat=True)) == {Turn.CANCELLED}
    assert places(session) == list(range(2 * len(queued)))


@pytest.mark.django_db(transaction=True)
def test_a_turn_takes_in_a_steering_message_while_others_of_its_session_are_cancelled() -> None:
    session = Session.objects.create(user=User.objects.create_user("ann"))
    (first,) = queue(session, "begin")
    lease = jobs.claim(Turn, first.pk, owner="worker")
    assert lease is not None
    turn = lease.job
    assert isinstance(turn, Turn)
    for step in range(1, 11):
        cancelled = queue(session, "never mind", "nor this")
        queue(session, f"steer {step}", mode=Turn.Mode.STEER)
        work: list[Callable[[], object]] = [lambda step=step: journal.absorb_queued(turn, lease, step)]  # type: ignore[misc]
        work += [lambda other=other: turns.cancel(other) for other in cancelled]  # type: ignore[misc]
        all_at_once(lambda one: one(), work)
    assert Message.objects.filter(turn=turn).exclude(steered_step=None).count() == 10
    assert session.turns.filter(status=Turn.CANCELLED).count() == 20
    assert places(session) == list(range(2 + 10 + 40))


@pytest.mark.django_db(transaction=True)
def test_cancels_and_claims_of_the_same_turns_at_the_same_moment_end_or_start_each() -> None:
    people = [User.objects.create_user(f"person {number}") for number in range(12)]
    queued = [queue(Session.objects.create(user=person), "hello")[0] for person in people]
    work: list[Callable[[], object]] = []
    for turn in queued:
        work.append(lambda turn=turn: turns.stop(turn))  # type: ignore[misc]
        work.append(lambda turn=turn: jobs.claim(Turn, turn.pk, owner="worker"))  # type: ignore[misc]
    all_at_once(lambda one: one(), work)
    for turn in Turn.objects.filter(pk__in=[turn.pk for turn in queued]):
        assert turn.status == Turn.CANCELLED or turn.cancel_requested_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_queued_message_that_is_removed_while_it_is_claimed_is_gone_or_runs() -> None:
    people = [User.objects.create_user(f"person {number}") for number in range(12)]
    queued = [queue(Session.objects.create(user=person), "hello")[0] for person in people]

    def remove(turn: Turn) -> bool:
        try:
            turns.remove_queued(turn)
        except NotQueued:
            return False
        return True

    work: list[Callable[[], object]] = []
    for turn in queued:
        work.append(lambda turn=turn: jobs.claim(Turn, turn.pk, owner="worker"))  # type: ignore[misc]
        work.append(lambda turn=turn: remove(turn))  # type: ignore[misc]
    done = all_at_once(lambda one: one(), work)
    for turn, lease, removed in zip(queued, done[::2], done[1::2], strict=True):
        assert (lease is None) == removed == (not Turn.objects.filter(pk=turn.pk).exists())


@pytest.mark.django_db(transaction=True)
def test_a_turn_and_the_execution_that_waits_for_it_end_each_other_at_the_same_moment() -> None:
    """The turn's end wakes the execution, the execution's end stops the turn: each locks what the other holds."""
    ann = User.objects.create_user("ann")
    agent = make_agent(ann)
    work: list[Callable[[], object]] = []
    for number in range(6):
        execution = make_execution(agent)
        (turn,) = queue(Session.objects.create(user=ann), "do this")
        Turn.objects.filter(pk=turn.pk).update(client_id=f"task:{number}", execution_id=execution.pk)
        work.append(lambda pk=turn.pk: jobs.mark_failed(Turn, pk))  # type: ignore[misc]
        work.append(lambda pk=execution.pk: jobs.mark_failed(Execution, pk))  # type: ignore[misc]
    all_at_once(lambda one: one(), work)
    assert not Turn.objects.exclude(status__in=Turn.TERMINAL).exists()
    assert set(Execution.objects.values_list("status", flat=True)) == {Execution.FAILED}


@pytest.mark.django_db
def test_a_poke_for_a_turn_that_was_removed_finds_nothing_to_claim() -> None:
    session = Session.objects.create(user=User.objects.create_user("ann"))
    (turn,) = queue(session, "hello")
    left = jobs.left_by(Turn, turn.pk)
    assert left is not None
    turns.remove_queued(turn)
    with transaction.atomic():
        assert jobs._take(Turn, turn.pk, "worker", left) is None
