"""The cost of a turn of a user or session with a long history."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from django.test import Client
from django.utils import timezone

from accounts.api_keys import create_api_key
from accounts.models import User
from benchmarks.conversations import new_session, person, queued_turn, script
from benchmarks.side_by_side import Report, Size, alternate, ratio_at_most
from chat import engine
from chat.models import Message, Session, Step, Turn
from durable.ids import new_id
from durable.runtime import runtime
from tests.harness import Stack, eventually

TITLE = "CPU of the worker per turn (20 words), and of the web process per page, as history grows"
FLAT = ratio_at_most(1.5)
WORDS = 20
SENTENCE = (
    "This is one of the many things that were said in this long conversation about all sorts of matters. "
)


def run(stack: Stack, size: Size, report: Report) -> None:
    stack.start_model()
    eventually(lambda: "http" in stack.log("model"), what="the offline model")
    few, many = 10, size.pick(50, 300, 1_000)
    new, old = User.objects.create(username="new"), User.objects.create(username="old")
    for user, count in ((new, few), (old, many)):
        for _ in range(count):
            seed(new_session(user), 4)
    per_turn = size.pick(2, 10, 20)
    answer = {name: turns_of(new_session(user), per_turn) for name, user in {"few": new, "many": old}.items()}
    found = alternate(answer, size.repetitions)
    report.add(f"a turn, {many:,} against {few} sessions of history", "ms", found["many"], found["few"], FLAT)
    found = alternate(
        {"few": page(new, "/api/sessions"), "many": page(old, "/api/sessions")}, size.repetitions
    )
    report.add(f"the list of sessions, {many:,} against {few}", "ms", found["many"], found["few"], FLAT)
    compare_sessions(size, report)


def compare_sessions(size: Size, report: Report) -> None:
    few, many = 10, size.pick(100, 2_000, 10_000)
    per_turn = size.pick(2, 5, 10)
    short, long = new_session(), new_session()
    seed(short, few)
    seed(long, many)
    summing_up = turns_of(long, 1)()  # the first turn that does not fit sums the older part up
    found = alternate({"few": turns_of(short, per_turn), "many": turns_of(long, per_turn)}, size.repetitions)
    report.add(
        f"a turn in a session of {many:,} against {few} messages", "ms", found["many"], found["few"], FLAT
    )
    user = person()
    pages = {name: page(user, f"/api/sessions/{s.pk}") for name, s in {"few": short, "many": long}.items()}
    found = alternate(pages, size.repetitions)
    report.add(
        f"opening a session of {many:,} against {few} messages", "ms", found["many"], found["few"], FLAT
    )
    seen = Session.objects.get(pk=long.pk)
    left = long.messages.filter(seq__gte=seen.summary_until).count()
    report.remark(
        f"the first turn in the long session took {summing_up:.0f} ms of CPU; the model then reads a summary and the "
        f"last {left} messages"
    )


def turns_of(session: Session, count: int) -> Callable[[], float]:
    """Answer some turns in this process; return milliseconds of CPU per turn."""

    def answer() -> float:
        turns = [queued_turn(session, script({"chunks": WORDS})) for _ in range(count)]
        started = time.process_time()
        for turn in turns:
            runtime().run(Turn, turn.pk, engine.run)
        spent = time.process_time() - started
        done = Turn.objects.filter(pk__in=[turn.pk for turn in turns], end_reason=Turn.EndReason.DONE).count()
        assert done == count, f"{done} of {count} turns were answered"
        return spent / count * 1000

    return answer


def page(user: User, path: str) -> Callable[[], float]:
    """Fetch a page in this process; return milliseconds of CPU."""
    client = Client(
        SERVER_NAME="127.0.0.1", headers={"Authorization": f"Bearer {create_api_key(user, 'bench')}"}
    )

    def fetch() -> float:
        started = time.process_time()
        response = client.get(path)
        spent = time.process_time() - started
        assert response.status_code == 200, response.content
        return spent * 1000

    fetch()
    return fetch


def seed(session: Session, messages: int) -> None:
    """Insert ended turns."""
    pairs = messages // 2
    turns = [ended_turn(session) for _ in range(pairs)]
    Turn.objects.bulk_create(turns)
    Message.objects.bulk_create(
        said(session, turn, role, 2 * place + offset)
        for place, turn in enumerate(turns)
        for offset, role in enumerate((Message.Role.USER, Message.Role.ASSISTANT))
    )
    Step.objects.bulk_create(
        Step(turn=turn, number=0, attempt=1, parts=[{"kind": "text", "text": SENTENCE}]) for turn in turns
    )
    Session.objects.filter(pk=session.pk).update(next_seq=2 * pairs)


def ended_turn(session: Session) -> Turn:
    now = timezone.now()
    return Turn(
        id=new_id(), session=session, user_id=session.user_id, status=Turn.COMPLETED, attempt=1,
        end_reason=Turn.EndReason.DONE, queued_at=now, started_at=now, ended_at=now,
    )  # fmt: skip


def said(session: Session, turn: Turn, role: str, place: int) -> Message:
    identity: uuid.UUID = turn.answer_id if role == Message.Role.ASSISTANT else new_id()
    return Message(id=identity, session=session, turn=turn, role=role, seq=place, text=SENTENCE)
