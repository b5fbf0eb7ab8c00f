"""Places of messages: given at once if nothing else is live; part of the history once their turn starts."""

from __future__ import annotations

import pytest

from accounts.models import User
from chat import turns
from chat.api.messages import page_of
from chat.engine import history
from chat.models import Message, Session, Turn
from durable import jobs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]


@pytest.fixture
def session() -> Session:
    return Session.objects.create(user=User.objects.create_user("ann"))


def accept(session: Session, text: str, mode: str = Turn.Mode.QUEUE) -> Turn:
    return turns.accept(session, turns.Input(text=text, while_running=mode))


def places(session: Session) -> dict[str, int | None]:
    return dict(session.messages.filter(role="user").values_list("text", "seq"))


def begin(turn: Turn) -> None:
    assert jobs.claim(Turn, turn.pk, owner="worker") is not None


def test_the_only_input_of_a_session_is_placed_with_its_answer_when_it_is_accepted(session: Session) -> None:
    turn = accept(session, "hello")
    assert list(turn.messages.order_by("seq").values_list("role", "seq")) == [("user", 0), ("assistant", 1)]
    begin(turn)
    assert list(session.messages.order_by("seq").values_list("seq", flat=True)) == [0, 1]


def test_an_input_behind_another_one_is_placed_when_its_turn_starts(session: Session) -> None:
    first, second = accept(session, "first"), accept(session, "second")
    assert places(session) == {"first": 0, "second": None}
    begin(first)
    Turn.objects.filter(pk=first.pk).update(status=Turn.COMPLETED)
    begin(second)
    assert places(session) == {"first": 0, "second": 2}


def test_a_queued_message_is_not_part_of_the_history_although_it_is_placed(session: Session) -> None:
    turn = accept(session, "hello")
    assert page_of(session, size=10).messages == []
    assert history.read_page(session, since=0).rows == []
    begin(turn)
    assert [message["role"] for message in page_of(session, size=10).messages] == ["user", "assistant"]
    page = history.read_page(session, since=0)
    assert [(row.seq, row.role, row.text) for row in page.rows] == [
        (0, "user", "hello"),
        (1, "assistant", ""),
    ]
    assert page.steps == {}


def test_an_interrupting_input_stands_before_those_it_overtakes(session: Session) -> None:
    accept(session, "slow")
    urgent = accept(session, "urgent", Turn.Mode.INTERRUPT)
    begin(urgent)
    Turn.objects.filter(pk=urgent.pk).update(status=Turn.COMPLETED)
    begin(Turn.objects.get(status=Turn.QUEUED))
    placed = places(session)
    assert None not in placed.values()
    assert list(session.messages.order_by("seq").values_list("role", "text")) == [
        ("user", "urgent"), ("assistant", ""), ("user", "slow"), ("assistant", ""),
    ]  # fmt: skip
    assert Message.objects.count() == 4
