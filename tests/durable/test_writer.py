"""The writer against real Redis servers that are flushed, killed, frozen, full and forgetful."""

from __future__ import annotations

import signal
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from durable import event_log, limits
from durable.emitter import Emitter
from durable.event_log import START, LoggedEvent, Position
from durable.writer import Writer, life_seconds
from tests.durable.conftest import OwnRedis, eventually
from tests.durable.readers import Reader, text_of
from tests.durable.testjobs.events import Mark, Word

SECONDS = 120.0


@pytest.fixture
def writer() -> Writer:
    return Writer()


def attempt(writer: Writer, number: int = 1, job_id: uuid.UUID | None = None) -> Emitter:
    return Emitter(job_id or uuid.uuid4(), number, after=START, wake=writer.wake)


def in_log(emitter: Emitter) -> list[LoggedEvent]:
    return event_log.tail(emitter.job_id, START)


def commit(emitter: Emitter, pages: list[LoggedEvent]) -> None:
    with emitter.committing() as entries:
        pages.extend(entries)


def read_all(emitter: Emitter, pages: list[LoggedEvent]) -> Reader:
    """A reader that comes late: the pages, then the log; nothing it needs may be missing."""
    reader = Reader()
    assert reader.take(pages)
    assert reader.take(in_log(emitter)), "the log does not join on to the pages"
    return reader


# --- a healthy Redis ----------------------------------------------------------------------------


def test_events_of_many_jobs_keep_their_order_and_their_ids(own_redis: OwnRedis, writer: Writer) -> None:
    emitters = [attempt(writer) for _ in range(20)]
    for number in range(200):
        for emitter in emitters:
            emitter.emit(Mark(text=f"{number} "))
    for emitter in emitters:
        assert emitter.flush(SECONDS)
        entries = in_log(emitter)
        assert [entry.at for entry in entries] == [Position(1, seq) for seq in range(1, 201)]
        assert [entry.after for entry in entries] == [START, *(entry.at for entry in entries[:-1])]
        assert text_of(entries) == "".join(f"{number} " for number in range(200))
    assert writer.counters.events == 4_000
    assert writer.counters.failures == writer.counters.fenced == writer.counters.reseeds == 0


def test_after_a_quiet_time_the_first_words_wait_for_nobody_and_then_they_gather(
    own_redis: OwnRedis, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "GATHER_SECONDS", 3600.0)
    monkeypatch.setattr(writer, "_credit", float(limits.GATHER_CREDIT))
    monkeypatch.setattr(writer, "_sent_at", time.monotonic())
    emitter = attempt(writer)
    for number in range(limits.GATHER_CREDIT):
        emitter.emit(Mark(text=f"{number} "))
        assert emitter.flush(SECONDS), f"word {number} was held back"
    assert len(in_log(emitter)) == writer.counters.batches == limits.GATHER_CREDIT
    emitter.emit(Mark(text="goes out, and the writer rests"))
    assert emitter.flush(SECONDS)
    emitter.emit(Mark(text="waits"))
    assert not emitter.flush(0.5)


def test_all_jobs_share_one_connection(own_redis: OwnRedis, writer: Writer) -> None:
    emitters = [attempt(writer) for _ in range(50)]
    for emitter in emitters:
        emitter.emit(Mark(text="x"))
    assert all(emitter.flush(SECONDS) for emitter in emitters)
    others = len(own_redis.client().client_list())
    assert others <= 2  # the writer's, and the one that asks


def test_what_is_announced_is_what_is_in_the_log(own_redis: OwnRedis, writer: Writer) -> None:
    emitter = attempt(writer)
    listener = own_redis.client().pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
    listener.subscribe(event_log.stream_key(emitter.job_id))
    listener.get_message(timeout=SECONDS)
    for number in range(300):
        emitter.emit(Mark(text=f"{number} "))
        emitter.hint(Mark(text="?"))
    heard: list[LoggedEvent] = []

    def listen() -> bool:
        if message := listener.get_message(timeout=0.1):
            heard.extend(event_log.parse_news(message["data"]))
        return len(heard) == 600

    eventually(listen)
    assert heard == in_log(emitter)


def test_small_texts_are_merged_while_the_writer_is_busy(own_redis: OwnRedis, writer: Writer) -> None:
    emitter = attempt(writer)
    for number in range(2_000):
        emitter.emit(Word(text=f"{number} "))
    assert emitter.flush(SECONDS)
    entries = in_log(emitter)
    assert text_of(entries) == "".join(f"{number} " for number in range(2_000))
    assert len(entries) < 1_000


def test_a_log_has_a_time_to_live_from_its_first_entry_on(own_redis: OwnRedis, writer: Writer) -> None:
    emitter = attempt(writer)
    emitter.emit(Mark(text="x"))
    assert emitter.flush(SECONDS)
    assert 0 < own_redis.client().ttl(event_log.stream_key(emitter.job_id)) <= life_seconds()


# --- fenced -------------------------------------------------------------------------------------


def test_a_newer_attempt_in_the_log_fences_the_older_one(own_redis: OwnRedis, writer: Writer) -> None:
    zombie = attempt(writer)
    zombie.emit(Mark(text="old "))
    assert zombie.flush(SECONDS)
    successor = attempt(writer, 2, zombie.job_id)
    successor.emit(Mark(text="new "))
    assert successor.flush(SECONDS)
    fenced = threading.Event()
    zombie.on_fenced = fenced.set
    zombie.emit(Mark(text="ghost "))
    assert fenced.wait(SECONDS)
    assert text_of(in_log(zombie)) == "old new "
    assert writer.counters.fenced == 1
    zombie.emit(Mark(text="ghost "))
    assert zombie.flush(SECONDS)
    assert text_of(in_log(zombie)) == "old new "


def test_an_attempt_that_never_wrote_is_fenced_too(own_redis: OwnRedis, writer: Writer) -> None:
    successor = attempt(writer, 2)
    successor.emit(Mark(text="new"))
    assert successor.flush(SECONDS)
    zombie = attempt(writer, 1, successor.job_id)
    fenced = threading.Event()
    zombie.on_fenced = fenced.set
    zombie.emit(Mark(text="ghost"))
    assert fenced.wait(SECONDS)
    assert text_of(in_log(successor)) == "new"


def test_a_fault_in_the_word_to_a_fenced_job_does_not_stop_the_writer(
    own_redis: OwnRedis, writer: Writer
) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    successor = attempt(writer, 2)
    successor.emit(Mark(text="new"))
    assert successor.flush(SECONDS)
    zombie = attempt(writer, 1, successor.job_id)
    zombie.on_fenced = broken
    zombie.emit(Mark(text="ghost"))
    eventually(lambda: writer.counters.fenced == 1)
    successor.emit(Mark(text="er"))
    assert successor.flush(SECONDS)
    assert text_of(in_log(successor)) == "newer"


# --- lost ---------------------------------------------------------------------------------------


def test_after_a_flush_the_open_events_are_back_under_the_same_ids(
    own_redis: OwnRedis, writer: Writer
) -> None:
    emitter, pages = attempt(writer), list[LoggedEvent]()
    for number in range(10):
        emitter.emit(Mark(text=f"{number} "))
        if number == 5:
            commit(emitter, pages)
    assert emitter.flush(SECONDS)
    before = in_log(emitter)
    own_redis.client().flushall()
    emitter.emit(Mark(text="more"))
    assert emitter.flush(SECONDS)
    assert in_log(emitter)[:-1] == before[6:]
    assert read_all(emitter, pages).text == "0 1 2 3 4 5 6 7 8 9 more"
    assert writer.counters.reseeds == 1
    assert own_redis.client().ttl(event_log.stream_key(emitter.job_id)) > 0


def test_flushes_in_the_middle_of_a_fast_turn_leave_no_hole(own_redis: OwnRedis, writer: Writer) -> None:
    emitter, pages = attempt(writer), list[LoggedEvent]()
    flusher = own_redis.client()
    for number in range(300):
        emitter.emit(Mark(text=f"{number} "))
        if number % 50 == 0:
            flusher.flushall()
        if number % 70 == 69:
            commit(emitter, pages)
    emitter.emit(Mark(text="end"))
    assert emitter.flush(SECONDS)
    assert read_all(emitter, pages).text == "".join(f"{number} " for number in range(300)) + "end"


@pytest.mark.parametrize("append_only", [True, False])
def test_redis_killed_again_and_again_while_events_are_sent_loses_nothing(
    make_redis: Callable[..., OwnRedis], writer: Writer, append_only: bool
) -> None:
    server = make_redis(append_only=append_only)
    emitters = [attempt(writer) for _ in range(5)]
    pages: dict[Emitter, list[LoggedEvent]] = {emitter: [] for emitter in emitters}
    emitted: list[str] = []
    stop = threading.Event()

    def talk() -> None:
        number = 0
        while not stop.wait(0.002):
            emitted.append(f"{number} ")
            for emitter in emitters:
                emitter.emit(Mark(text=f"{number} "))
                if number % 40 == 39:
                    commit(emitter, pages[emitter])
            number += 1

    talker = threading.Thread(target=talk)
    talker.start()
    try:
        for _ in range(4):
            known = writer.counters.events
            eventually(lambda known=known: writer.counters.events > known + 50)  # type: ignore[misc]
            server.restart()
    finally:
        stop.set()
        talker.join(SECONDS)
    for emitter in emitters:
        emitter.emit(Mark(text="end"))
        assert emitter.flush(SECONDS)
        assert read_all(emitter, pages[emitter]).text == "".join(emitted) + "end"


def test_a_redis_that_comes_back_without_its_last_entries_gets_them_again(
    make_redis: Callable[..., OwnRedis], writer: Writer
) -> None:
    """As after a power failure or a failover: the log is there, but it ends too early."""
    server = make_redis(append_only=False)
    busy, idle = attempt(writer), attempt(writer)
    for emitter in (busy, idle):
        emitter.emit(Mark(text="saved "))
        assert emitter.flush(SECONDS)
    server.client().save()
    for emitter in (busy, idle):
        emitter.emit(Mark(text="not saved "))
        assert emitter.flush(SECONDS)
    server.restart()
    for emitter in (busy, idle):
        assert text_of(in_log(emitter)) == "saved "
        emitter.emit(Mark(text="after"))
        assert emitter.flush(SECONDS)
        assert text_of(in_log(emitter)) == "saved not saved after"
        assert Reader().take(in_log(emitter))


def test_while_redis_is_down_nobody_waits_and_afterwards_everything_is_there(
    own_redis: OwnRedis, writer: Writer
) -> None:
    emitter = attempt(writer)
    emitter.emit(Mark(text="before "))
    assert emitter.flush(SECONDS)
    own_redis.kill()
    for number in range(500):
        emitter.emit(Word(text=f"{number} "))
    eventually(lambda: writer.counters.failures >= 2)
    assert not emitter.flush(0)
    own_redis.start()
    assert emitter.flush(SECONDS)
    assert text_of(in_log(emitter)) == "before " + "".join(f"{number} " for number in range(500))


def test_a_frozen_redis_delays_and_loses_nothing(
    own_redis: OwnRedis, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REDIS_TIMEOUT_SECONDS", 0.2)
    emitter = attempt(writer)
    emitter.emit(Mark(text="a"))
    assert emitter.flush(SECONDS)
    own_redis.signal(signal.SIGSTOP)
    try:
        emitter.emit(Mark(text="b"))
        emitter.emit(Mark(text="c"))
        eventually(lambda: writer.counters.failures >= 1)
    finally:
        own_redis.signal(signal.SIGCONT)
    assert emitter.flush(SECONDS)
    assert text_of(in_log(emitter)) == "abc"


def test_a_redis_without_memory_delays_and_loses_nothing(own_redis: OwnRedis, writer: Writer) -> None:
    emitter = attempt(writer)
    emitter.emit(Mark(text="a"))
    assert emitter.flush(SECONDS)
    own_redis.client().config_set("maxmemory", 1)
    emitter.emit(Mark(text="b"))
    eventually(lambda: writer.counters.failures >= 1)
    own_redis.client().config_set("maxmemory", 0)
    assert emitter.flush(SECONDS)
    assert text_of(in_log(emitter)) == "ab"


def test_a_log_that_cannot_be_written_does_not_stand_in_the_way_of_others(
    own_redis: OwnRedis, writer: Writer
) -> None:
    bad, good = attempt(writer), attempt(writer)
    own_redis.client().set(event_log.stream_key(bad.job_id), "no stream")
    bad.emit(Mark(text="x"))
    eventually(lambda: writer.counters.failures >= 1)
    good.emit(Mark(text="good"))
    assert good.flush(SECONDS)
    assert text_of(in_log(good)) == "good"
    own_redis.client().delete(event_log.stream_key(bad.job_id))
    assert bad.flush(SECONDS)
    assert text_of(in_log(bad)) == "x"


def test_a_connection_cut_by_the_server_is_made_anew(own_redis: OwnRedis, writer: Writer) -> None:
    emitter = attempt(writer)
    for number in range(5):
        emitter.emit(Mark(text=f"{number} "))
        assert emitter.flush(SECONDS)
        own_redis.client().client_kill_filter(_type="normal", skipme=True)
    assert text_of(in_log(emitter)) == "0 1 2 3 4 "


def test_an_event_that_breaks_after_it_was_taken_is_left_out_and_the_writer_goes_on(
    own_redis: OwnRedis, writer: Writer
) -> None:
    class Fickle:
        """Can be written down once, and not again after a merge."""

        broken = False

        def encode(self) -> str:
            if self.broken:
                raise TypeError("no")
            return '{"text":"fickle"}'

        def merge(self, later: Any) -> Fickle:
            self.broken = True
            return self

    emitter, other = attempt(writer), attempt(writer)
    with emitter.committing():
        emitter.emit(Fickle())
        emitter.emit(Fickle())
    assert emitter.flush(SECONDS)
    other.emit(Mark(text="fine"))
    assert other.flush(SECONDS)
    assert text_of(in_log(other)) == "fine"


def test_the_buffer_of_a_closed_attempt_is_not_sent_after_an_outage(
    own_redis: OwnRedis, writer: Writer
) -> None:
    emitter, other = attempt(writer), attempt(writer)
    own_redis.kill()
    emitter.emit(Mark(text="x"))
    other.emit(Mark(text="y"))
    eventually(lambda: writer.counters.failures >= 1)
    emitter.close()
    own_redis.start()
    assert other.flush(SECONDS)
    assert in_log(emitter) == []
