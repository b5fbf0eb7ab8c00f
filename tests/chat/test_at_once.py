"""What happens to one person's rows at the same moment, where rows have locks of their own."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection, transaction

from accounts.models import User
from chat import turns
from chat.models import Session, Turn
from tests.on_postgresql import run_on_postgresql

WAIT = 30
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
            Turn.admit(first.pk)
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
            Turn.admit(first.pk)
            Turn.objects.filter(pk=first.pk).update(status=Turn.RUNNING)
            claiming.set()
            time.sleep(0.5)  # by now the message stands in line
            first.session.take_places(1)
        connection.close()

    worker = threading.Thread(target=claim)
    worker.start()
    assert claiming.wait(WAIT)
    again = turns.submit(session, turns.Input(text="and this", client_id="once"))
    worker.join(WAIT)
    assert (again.created, again.turn.pk) == (False, first.pk)


@pytest.mark.services
@pytest.mark.timeout(900)
@pytest.mark.skipif(connection.vendor == "postgresql", reason="this run is on PostgreSQL already")
def test_claims_and_messages_do_not_wait_for_each_other_on_postgresql() -> None:
    run_on_postgresql("tests/chat/test_at_once.py")
