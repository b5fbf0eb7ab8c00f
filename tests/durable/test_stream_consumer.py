"""A consumer group member: acknowledges after success, takes over from the dead, parks what cannot be handled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.test import Client

from durable import limits
from durable.models import ParkedEntry
from durable.redis import bytes_client
from durable.stream_consumer import Consumer, Fields, entries_of, replay, text

pytestmark = pytest.mark.django_db(transaction=True)
STREAM, GROUP = "test:entries", "readers"


@pytest.fixture(autouse=True)
def stream(redis_server: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(limits, "CONSUMER_FIRST_PAUSE_SECONDS", 0.0)
    bytes_client().delete(STREAM)
    yield
    bytes_client().delete(STREAM)


class Hearing:
    """Remembers what it was given; raises what it is told to."""

    def __init__(self) -> None:
        self.heard: list[Fields] = []
        self.error: Exception | None = None

    def __call__(self, fields: Fields) -> None:
        self.heard.append(fields)
        if self.error is not None:
            raise self.error


def consumer(handle: Callable[[Fields], None], **more: Any) -> Consumer:
    return Consumer(stream=STREAM, group=GROUP, handle=handle, **({"claim_idle_seconds": 60.0} | more))


def add(**fields: Any) -> str:
    given: dict[Any, Any] = fields
    return text(bytes_client().xadd(STREAM, given))


def pending() -> int:
    return int(bytes_client().xpending(STREAM, GROUP)["pending"])


def read(one: Consumer) -> int:
    return one.read_once(block_seconds=0.01)


def test_entries_from_before_the_group_are_read_and_acknowledged() -> None:
    hearing = Hearing()
    add(a="1")
    add(a="2")
    assert read(consumer(hearing)) == 2
    assert hearing.heard == [{"a": "1"}, {"a": "2"}]
    assert pending() == 0


def test_two_members_share_the_entries() -> None:
    one, two = Hearing(), Hearing()
    first, second = consumer(one), consumer(two)
    read(first)
    read(second)
    add(a="1")
    assert read(first) + read(second) == 1


def test_what_a_dead_consumer_left_is_claimed_after_its_idle_time() -> None:
    hearing = Hearing()
    add(a="1")
    dead = consumer(hearing, name="dead")
    dead._make_ready()
    dead._read(">")
    assert read(consumer(hearing)) == 0  # held for less than a minute
    assert read(consumer(hearing, claim_idle_seconds=0.0)) == 1
    assert (hearing.heard, pending()) == ([{"a": "1"}], 0)
    assert not ParkedEntry.objects.exists()


def test_a_poison_entry_is_parked_after_some_tries_and_others_go_on() -> None:
    def handle(fields: Fields) -> None:
        hearing(fields)
        if "poison" in fields:
            raise ValueError("I cannot read this")

    hearing = Hearing()
    one = consumer(handle, tries=3)
    add(poison="1")
    add(fine="1")
    for _ in range(5):
        read(one)
    assert [fields for fields in hearing.heard if "fine" in fields] == [{"fine": "1"}]
    assert len([fields for fields in hearing.heard if "poison" in fields]) == 3
    parked = ParkedEntry.objects.get()
    assert (parked.state, parked.tries, parked.fields) == ("parked", 3, {"poison": "1"})
    assert "I cannot read this" in parked.error
    assert pending() == 0


def test_an_entry_that_kills_its_consumers_is_parked_too() -> None:
    hearing = Hearing()
    hearing.error = ValueError("no")
    entry_id = add(a="1")
    ParkedEntry.objects.create(stream=STREAM, group=GROUP, entry_id=entry_id, fields={"a": "1"}, tries=8)
    dead = consumer(hearing, name="dead")
    dead._make_ready()
    dead._read(">")
    read(consumer(hearing, claim_idle_seconds=0.0))
    assert ParkedEntry.objects.get().state == "parked"


def test_an_entry_that_works_at_the_second_try_leaves_no_row() -> None:
    hearing = Hearing()
    one = consumer(hearing)
    add(a="1")
    hearing.error = ValueError("not yet")
    read(one)
    assert (ParkedEntry.objects.get().state, pending()) == ("retrying", 1)
    hearing.error = None
    read(one)
    assert (ParkedEntry.objects.count(), pending()) == (0, 0)


def test_a_database_that_is_away_counts_against_no_entry() -> None:
    hearing, stop = Hearing(), threading.Event()
    add(a="1")

    def handle(fields: Fields) -> None:
        hearing(fields)
        if len(hearing.heard) < 8:
            raise OperationalError("gone")
        stop.set()

    consumer(handle).run(stop)
    assert (len(hearing.heard), pending(), ParkedEntry.objects.count()) == (8, 0, 0)


def test_a_flushed_redis_gets_its_group_again() -> None:
    hearing, stop = Hearing(), threading.Event()

    def handle(fields: Fields) -> None:
        hearing(fields)
        if fields == {"a": "2"}:
            stop.set()
        else:
            bytes_client().delete(STREAM)
            add(a="2")

    add(a="1")
    consumer(handle).run(stop)
    assert hearing.heard[-1] == {"a": "2"}


def test_answers_of_old_and_new_servers_are_understood() -> None:
    rows = [(b"1-1", {b"a": b"\xff"}), (b"2-1", None), (None, None)]
    found = list(entries_of(rows, again=True))
    assert [(entry.id, entry.fields) for entry in found] == [("1-1", {"a": "\ufffd"}), ("2-1", None)]
    assert list(entries_of(None, again=False)) == []


def test_a_deleted_entry_is_acknowledged_and_not_handled() -> None:
    hearing = Hearing()
    one = consumer(hearing)
    entry_id = add(a="1")
    one._make_ready()
    one._read(">")
    bytes_client().xdel(STREAM, entry_id)
    one._retry_at = 0.0
    read(one)
    assert (hearing.heard, pending()) == ([], 0)


def test_an_operator_replays_and_drops_parked_entries() -> None:
    admin = get_user_model().objects.create_superuser("root", password="x")
    client = Client()
    client.force_login(admin)
    parked = ParkedEntry.objects.create(
        stream=STREAM, group=GROUP, entry_id="1-1", fields={"a": "1"}, state="parked"
    )
    page = client.get(f"/admin/durable/parkedentry/{parked.pk}/change/").content.decode()
    assert "1-1" in page

    def act(action: str) -> None:
        answer = client.post(
            "/admin/durable/parkedentry/",
            {"action": action, "sure": "yes", "_selected_action": [parked.pk]},
            follow=True,
        )
        assert answer.status_code == 200

    act("replay")
    assert not replay(parked)  # it was
    hearing = Hearing()
    read(consumer(hearing))
    assert hearing.heard == [{"a": "1"}]
    act("drop")
    assert not ParkedEntry.objects.exists()


def test_what_fails_here_is_not_mistaken_for_what_a_dead_consumer_left() -> None:
    hearing = Hearing()
    hearing.error = ValueError("no")
    one = consumer(hearing, claim_idle_seconds=0.0, tries=4)
    add(a="1")
    for _ in range(6):
        read(one)
    assert (len(hearing.heard), ParkedEntry.objects.get().tries) == (4, 4)


def test_what_was_acknowledged_leaves_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONSUMER_TRIM_SECONDS", 0.0)
    hearing = Hearing()
    one = consumer(hearing)
    for number in range(500):
        add(number=number)
    while read(one):
        pass
    assert len(hearing.heard) == 500
    assert bytes_client().xlen(STREAM) == 0
    add(number=500)
    assert read(one) == 1


def test_what_is_not_acknowledged_stays_and_so_does_what_came_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "CONSUMER_TRIM_SECONDS", 0.0)
    done, stuck, later = add(number=0), add(number=1), add(number=2)
    dead = consumer(Hearing(), name="dead")
    dead._make_ready()
    bytes_client().xreadgroup(GROUP, "dead", {STREAM: ">"}, count=2)
    bytes_client().xack(STREAM, GROUP, done)
    assert read(consumer(Hearing())) == 1
    left: Any = bytes_client().xrange(STREAM)
    assert [text(entry_id) for entry_id, _ in left] == [stuck, later]


def test_a_slower_group_keeps_its_entries_until_they_are_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONSUMER_TRIM_SECONDS", 0.0)
    bytes_client().xgroup_create(STREAM, "slow", id="0", mkstream=True)
    for number in range(3):
        add(number=number)
    one = consumer(Hearing())
    assert read(one) == 3
    assert bytes_client().xlen(STREAM) == 3
    monkeypatch.setattr(limits, "CONSUMER_KEEP_SECONDS", -60.0)
    read(one)
    assert bytes_client().xlen(STREAM) == 0


def test_what_its_own_group_has_not_read_is_never_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONSUMER_KEEP_SECONDS", -60.0)
    one = consumer(Hearing())
    one._make_ready()
    for number in range(3):
        add(number=number)
    one._trim()
    assert bytes_client().xlen(STREAM) == 3
