"""The one reader: every place, live and late, log and database, one attempt and several."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction

from chat import limits, protocol, turns
from chat.delivery import reader
from chat.delivery.shared_reads import TurnStatus
from chat.events import AttemptStarted, ProseDelta, ProseStarted, prose_deltas
from chat.models import Attempt, Message, Session, Step, Turn
from chat.protocol import Framed, fold_turn
from copilot_project.ops.backup import archive
from durable import event_log, jobs
from durable.event_log import START, LoggedEvent, Position
from durable.models import EventPage
from durable.redis import client
from durable.stop_signal import StopReason
from tests.chat.delivery.fake_worker import FakeWorker, answer
from tests.chat.delivery.ui_reducer import Reducer

READ_SECONDS = 60


async def collect(
    batches: AsyncGenerator[reader.Batch], *, until: Callable[[list[LoggedEvent]], bool] | None = None
) -> list[LoggedEvent]:
    """All entries, or as many as it takes."""
    entries: list[LoggedEvent] = []
    async with asyncio.timeout(READ_SECONDS), aclosing(batches) as open_batches:
        async for batch in open_batches:
            entries += batch
            if until is not None and until(entries):
                break
    return entries


def read_all(turn: Turn, after: Position = START) -> list[LoggedEvent]:
    return asyncio.run(collect(reader.read(turn.pk, after=after)))


def read_compact(turn: Turn) -> list[LoggedEvent]:
    return asyncio.run(collect(reader.read_compact(turn.pk)))


def long_answer(turn: Turn, events: int) -> None:
    """A turn of about that many events, in several steps with several commits."""
    worker = FakeWorker(turn)
    for step in range(3):
        worker.open_step()
        worker.say(*(f"word {step}.{n} " for n in range(events // 3)), apart=True)
        if step < 2:
            worker.ask_for(f"call-{step}", "look", '{"at": 1}')
            worker.commit_step()
            worker.answer_call(f"call-{step}", {"type": "seen", "message": "ok"})
    worker.finish()


class Watching:
    """A reader in a thread of its own, while the test drives the worker."""

    def __init__(self, make: Callable[[], AsyncIterator[reader.Batch]]) -> None:
        self.entries: list[LoggedEvent] = []
        self.ready = threading.Event()
        self._make = make
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()

    async def _run(self) -> None:
        async with asyncio.timeout(READ_SECONDS):
            async for batch in self._make():
                self.entries += batch
                self.ready.set()

    def saw(self, text: str) -> None:
        """Wait until it has seen an entry that contains the text."""
        deadline = threading.Event()
        for _ in range(READ_SECONDS * 100):
            if any(text in entry.body for entry in list(self.entries)):
                return
            deadline.wait(0.01)
        raise AssertionError(f"{text!r} was never seen, only {[entry.body for entry in self.entries][-5:]}")

    def result(self) -> list[LoggedEvent]:
        self._thread.join(READ_SECONDS)
        assert not self._thread.is_alive(), "The reader did not end."
        return self.entries


def watch(turn: Turn, after: Position = START) -> Watching:
    return Watching(lambda: reader.read(turn.pk, after=after))


# --- exact places ---------------------------------------------------------------------------------


def test_a_cut_at_every_event_rejoins_byte_equal_from_the_log(turn: Turn) -> None:
    long_answer(turn, 300)
    whole = read_all(turn)
    assert len(whole) >= 300

    async def rejoin_everywhere() -> None:
        for place, entry in enumerate(whole):
            rest = await collect(reader.read(turn.pk, after=entry.at))
            assert rest == whole[place + 1 :], f"after {entry.at}"

    asyncio.run(rejoin_everywhere())


def test_a_cut_at_every_event_rejoins_byte_equal_after_redis_lost_everything(turn: Turn) -> None:
    long_answer(turn, 300)
    whole = read_all(turn)
    client().flushall()

    async def rejoin_everywhere() -> None:
        assert await collect(reader.read(turn.pk)) == whole
        for place, entry in enumerate(whole):
            rest = await collect(reader.read(turn.pk, after=entry.at))
            assert rest == whole[place + 1 :], f"after {entry.at}"

    asyncio.run(rejoin_everywhere())


def test_live_reading_gives_the_same_as_reading_afterwards(turn: Turn) -> None:
    live = watch(turn)
    long_answer(turn, 90)
    assert live.result() == read_all(turn)


def test_many_readers_from_different_places_see_the_same_events(turn: Turn) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("a", "b", apart=True)
    early = [watch(turn) for _ in range(5)]
    for one in early:
        one.saw('"b"')
    worker.say("c", "d", apart=True)
    late = [watch(turn) for _ in range(5)]
    for one in late:
        one.saw('"d"')
    worker.finish()
    whole = read_all(turn)
    assert all(one.result() == whole for one in early + late)


def test_a_flush_in_the_middle_of_a_turn_costs_a_live_reader_nothing(turn: Turn) -> None:
    worker = FakeWorker(turn)
    live = watch(turn)
    worker.open_step()
    worker.say("before", apart=True)
    live.saw("before")
    client().flushall()
    worker.say("after", apart=True)
    live.saw("after")
    worker.ask_for("c1", "look", "{}")
    worker.commit_step()
    client().flushall()
    worker.answer_call("c1", {"ok": True})
    client().flushall()
    worker.finish()
    entries = live.result()
    assert [entry.body for entry in entries] == [entry.body for entry in read_all(turn)]


def test_a_reader_with_nothing_but_the_database_gets_everything(
    turn: Turn, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_answer(turn, 30)
    whole = read_all(turn)

    async def away(*args: object, **more: object) -> list[LoggedEvent]:
        raise OSError("Redis is away")

    monkeypatch.setattr(event_log, "read", away)
    assert read_all(turn) == whole


def test_a_reader_hears_of_an_end_whose_frame_was_lost(turn: Turn) -> None:
    """The worker died between the final commit and the announcement: the row says it is over."""
    worker = FakeWorker(turn)
    live = watch(turn)
    worker.open_step()
    worker.say("all of it", apart=True)
    live.saw("all of it")
    worker.lease.emitter._wake = lambda emitter: None  # nothing leaves this worker any more
    worker.lease.emitter.flush = lambda seconds: True  # type: ignore[method-assign]
    worker.finish()
    entries = live.result()
    assert '"finish"' in entries[-1].body
    assert sum('"type":"finish"' in entry.body for entry in entries) == 1


def test_a_turn_cancelled_while_queued_ends_for_those_who_wait_for_it(turn: Turn) -> None:
    live = watch(turn)
    turns.cancel(turn)
    entries = live.result()
    kinds = [kind_of(entry) for entry in entries]
    assert kinds == ["start", "abort", "finish"]


def kind_of(entry: LoggedEvent) -> str:
    return entry.body.split('"')[3]


def test_a_deleted_turn_ends_its_readers(turn: Turn) -> None:
    live = watch(turn)
    Turn.objects.filter(pk=turn.pk).delete()
    event_log.nudge(turn.pk)
    assert live.result() == []


def test_hints_reach_live_readers_and_leave_no_hole(turn: Turn) -> None:
    worker = FakeWorker(turn)
    live = watch(turn)
    worker.open_step()
    live.saw("start-step")
    worker.hint("thinking")
    worker.say("done", apart=True)
    live.saw("thinking")
    worker.finish()
    assert sum("thinking" in entry.body for entry in live.result()) == 1
    client().flushall()
    assert not any("thinking" in entry.body for entry in read_all(turn))


# --- places that do not exist ---------------------------------------------------------------------


def test_nothing_follows_the_last_event(turn: Turn) -> None:
    answer(turn)
    assert read_all(turn, after=read_all(turn)[-1].at) == []


@pytest.mark.parametrize("ahead", [Position(1, 10**9), Position(7, 1), Position(10**8, 10**11)])
def test_a_place_ahead_of_an_ended_turn_gets_its_end_and_does_not_hang(turn: Turn, ahead: Position) -> None:
    answer(turn)
    assert [entry.body for entry in read_all(turn, after=ahead)] == [read_all(turn)[-1].body]


@pytest.mark.parametrize("ahead", [Position(1, 10**9), Position(7, 1)])
def test_a_place_ahead_of_a_running_turn_gets_its_end_and_does_not_hang(turn: Turn, ahead: Position) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    live = watch(turn, after=ahead)
    worker.say("text", apart=True)
    worker.finish()
    assert '"type":"finish"' in live.result()[-1].body


def test_a_turn_that_ends_while_a_place_ahead_of_it_is_corrected_is_told_to_have_ended(turn: Turn) -> None:
    """The look saw the status before the end and the log after it."""
    answer(turn)
    stored = event_log.last_stored(turn.pk)
    before = TurnStatus(attempt=1, stored=stored, is_over=False, queue_position=0)
    after = TurnStatus(attempt=1, stored=stored, is_over=True, queue_position=0)

    async def follow() -> list[str]:
        place = reader.ReaderPosition(turn.pk, Position(7, 1))
        place.correct(before)
        return [entry.body async for batch in place.catch_up(after) for entry in batch]

    assert asyncio.run(follow()) == [read_all(turn)[-1].body]


# --- several attempts -----------------------------------------------------------------------------


def two_attempts(turn: Turn) -> None:
    first = FakeWorker(turn, owner="first")
    first.open_step()
    first.say("kept")
    first.ask_for("c1", "look", "{}")
    first.commit_step()
    first.answer_call("c1", {"n": 1})
    first.open_step()
    first.say("abandoned", apart=True)
    first.die()
    second = FakeWorker(turn, owner="second")
    second.open_step()
    second.say("instead")
    second.finish()


def test_a_live_reader_of_two_attempts_is_told_what_is_void(turn: Turn) -> None:
    live = watch(turn)
    two_attempts(turn)
    bodies = [entry.body for entry in live.result()]
    told = [body for body in bodies if '"data-turn"' in body]
    assert told == [Framed(AttemptStarted(2, 1)).encode()]
    message = Reducer().hear_all(bodies)
    assert [part.get("text") for part in message.parts if part["type"] == "text"] == ["kept", "instead"]


def test_a_late_reader_of_two_attempts_never_sees_what_is_void(turn: Turn) -> None:
    two_attempts(turn)
    assert not any("abandoned" in entry.body for entry in read_all(turn))
    client().flushall()
    assert not any("abandoned" in entry.body for entry in read_all(turn))


def test_a_reader_standing_in_the_void_goes_on_behind_it(turn: Turn) -> None:
    first = FakeWorker(turn, owner="first")
    first.open_step()
    first.say("abandoned", apart=True)
    live = watch(turn)
    live.saw("abandoned")
    place = live.entries[-1].at
    first.die()
    second = FakeWorker(turn, owner="second")
    second.open_step()
    second.say("instead")
    second.finish()
    rest = read_all(turn, after=place)
    assert rest[0].body == Framed(AttemptStarted(2, 0)).encode()
    live.result()


def test_a_compact_reader_ends_without_finish_when_something_shown_is_void(turn: Turn) -> None:
    first = FakeWorker(turn, owner="first")
    first.open_step()
    first.say("kept")
    first.ask_for("c1", "look", "{}")
    first.commit_step()
    first.answer_call("c1", {"n": 1})
    first.open_step()
    live = Watching(lambda: reader.read_compact(turn.pk))
    first.say("abandoned", apart=True)
    live.saw("abandoned")
    first.die()
    second = FakeWorker(turn, owner="second")
    second.open_step()
    second.say("instead", apart=True)
    shown = live.result()
    assert not any('"finish"' in entry.body or "data-turn" in entry.body for entry in shown)
    resumed = Watching(lambda: reader.read_compact(turn.pk))
    resumed.saw("instead")
    second.finish()
    message = Reducer().hear_all(entry.body for entry in resumed.result())
    assert (message.starts, message.finishes) == (1, 1)
    assert [part["text"] for part in message.parts if part["type"] == "text"] == ["kept", "instead"]


def test_a_compact_reader_that_had_seen_nothing_void_goes_on_through_a_takeover(turn: Turn) -> None:
    first = FakeWorker(turn, owner="first")
    first.open_step()
    first.say("kept")
    first.ask_for("c1", "look", "{}")
    first.commit_step()
    live = Watching(lambda: reader.read_compact(turn.pk))
    live.saw("kept")
    first.die()
    second = FakeWorker(turn, owner="second")
    second.answer_call("c1", {"n": 1})
    second.open_step()
    second.say("more")
    second.finish()
    message = Reducer().hear_all(entry.body for entry in live.result())
    assert message.finishes == 1
    assert [part["text"] for part in message.parts if part["type"] == "text"] == ["kept", "more"]


def test_a_step_asked_again_in_the_same_attempt_replaces_its_half_text(turn: Turn) -> None:
    worker = FakeWorker(turn)
    live = watch(turn)
    worker.open_step()
    worker.emit(ProseStarted("text", "s0-p0"), ProseDelta("text", "s0-p0", "half"))
    live.saw("half")
    worker.lease.emitter.reset(Framed(AttemptStarted(1, 0)))
    worker.open_step()
    worker.say("whole")
    worker.finish()
    message = Reducer().hear_all(entry.body for entry in live.result())
    assert [part["text"] for part in message.parts if part["type"] == "text"] == ["whole"]


def test_a_zombies_words_reach_nobody(turn: Turn) -> None:
    zombie = FakeWorker(turn, owner="zombie")
    zombie.open_step()
    zombie.settle()
    Turn.objects.filter(pk=turn.pk).update(lease_until=None)
    heir = FakeWorker(turn, owner="heir")
    heir.open_step()
    heir.settle()
    zombie.emit(ProseStarted("text", "s0-p0"), ProseDelta("text", "s0-p0", "from the grave"))
    zombie.lease.emitter.flush(2)
    heir.say("alive")
    heir.finish()
    assert not any("grave" in entry.body for entry in read_all(turn))


# --- queued turns ---------------------------------------------------------------------------------


def places_told(entries: list[LoggedEvent]) -> list[int]:
    found = [json.loads(entry.body) for entry in entries if '"queue_position"' in entry.body]
    assert all(chunk["type"] == "data-turn" and chunk["transient"] is True for chunk in found)
    return [chunk["data"]["queue_position"] for chunk in found]


@pytest.mark.parametrize("reading", [reader.read, reader.read_compact])
def test_a_reader_of_a_queued_turn_hears_its_place_in_line(send: Callable[..., Turn], reading: Any) -> None:
    FakeWorker(send("runs"))
    send("waits")
    last = send("waits longer")
    told = asyncio.run(collect(reading(last.pk), until=lambda entries: bool(places_told(entries))))
    assert places_told(told) == [2]
    assert [entry.at for entry in told] == [START], "a note moves nobody's place"


def test_who_moves_up_hears_it_and_then_the_whole_answer(send: Callable[..., Turn]) -> None:
    first, turn = send("waits"), send("waits longer")
    live = watch(turn)
    live.saw('"queue_position":2')
    turns.remove_queued(first)
    live.saw('"queue_position":1')
    answer(turn, "At last.")
    heard = live.result()
    assert places_told(heard) == [2, 1]
    parts = Reducer().hear_all(entry.body for entry in heard).parts
    assert parts == Reducer().hear_all(entry.body for entry in read_all(turn)).parts


def test_the_place_in_line_follows_the_order_turns_begin_in(send: Callable[..., Turn]) -> None:
    running, first, second = send("runs"), send("first"), send("second")
    FakeWorker(running)
    urgent = send("now", while_running="interrupt")
    assert [turns.queue_position(turn.pk) for turn in (urgent, first, second)] == [1, 2, 3]
    assert turns.queue_position(running.pk) == 0
    assert turns.queue_position(uuid.uuid4()) == 0


# --- compact --------------------------------------------------------------------------------------


def test_a_turn_of_ten_thousand_events_reopens_in_a_few_chunks(turn: Turn) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.say(*(f"{n} " for n in range(10_000)))
    worker.finish()
    entries = read_compact(turn)
    assert len(entries) <= 10
    assert Reducer().hear_all(entry.body for entry in entries).parts[1]["text"] == "".join(
        f"{n} " for n in range(10_000)
    )


def test_an_absorbed_input_ends_for_its_own_reader(send: Callable[..., Turn], session: Session) -> None:
    from chat.engine import journal

    running, worker = (turn := send("first")), FakeWorker(turn)
    steer = send("and this", while_running="steer")
    live = watch(steer)
    worker.open_step()
    worker.say("text")
    worker.ask_for("c1", "look", "{}")
    worker.commit_step()
    worker.answer_call("c1", {"n": 1})
    running.session.refresh_from_db()
    journal.absorb_queued(running, worker.lease, 1)
    bodies = [entry.body for entry in live.result()]
    assert any(str(running.pk) in body for body in bodies if "data-turn" in body)
    assert '"type":"finish"' in bodies[-1]
    worker.finish()


async def test_leaving_releases_the_subscription(turn: Turn) -> None:
    from durable.hub import loop_hub

    worker = await sync_to_async(FakeWorker)(turn)
    await collect(reader.read(turn.pk), until=lambda entries: bool(entries))
    assert event_log.stream_key(turn.pk) not in loop_hub()._subscriptions
    await sync_to_async(worker.finish)()


async def test_a_reader_of_an_unknown_turn_ends(transactional_db: None) -> None:
    assert await collect(reader.read(uuid.uuid4())) == []


def test_a_reader_outlives_an_outage_of_the_database(turn: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    from chat.delivery import shared_reads

    real, failures = shared_reads.read_status, iter(range(3))

    def flaky(turn_id: uuid.UUID) -> shared_reads.TurnStatus:
        if next(failures, None) is not None:
            raise OperationalError("away")
        return real(turn_id)

    monkeypatch.setattr(shared_reads, "read_status", flaky)
    live = watch(turn)
    answer(turn)
    assert live.result() == read_all(turn)


def test_jobs_that_end_without_a_worker_close_the_log(turn: Turn) -> None:
    worker = FakeWorker(turn)
    worker.open_step()
    worker.emit(ProseStarted("text", "s0-p0"), ProseDelta("text", "s0-p0", "half a sentence"))
    worker.settle()
    live = watch(turn)
    live.saw("half a sentence")
    jobs.force_cancel(Turn, turn.pk)
    message = Reducer().hear_all(entry.body for entry in live.result())
    assert message.finishes == 1
    assert message.parts[-1] == {"type": "text", "text": "half a sentence", "state": "done"}


class PutBack:
    """The rows of a turn as they are now, to be put back over whatever becomes of them: a restored backup."""

    def __init__(self, turn: Turn) -> None:
        self.turn = Turn.objects.filter(pk=turn.pk).values().get()
        self.session = Session.objects.filter(pk=turn.session_id).values().get()
        self.messages = list(turn.messages.values())
        self.pages = list(EventPage.objects.filter(job_id=turn.pk).values())
        self.steps = list(turn.steps.values())
        self.attempts = list(turn.attempts.values())

    def restore(self) -> None:
        Turn.objects.filter(pk=self.turn["id"]).delete()
        EventPage.objects.filter(job_id=self.turn["id"]).delete()
        Session.objects.filter(pk=self.session["id"]).update(**self.session)
        Turn(**self.turn).save(force_insert=True)
        Message.objects.bulk_create(Message(**row) for row in self.messages)
        EventPage.objects.bulk_create(EventPage(**row) for row in self.pages)
        Step.objects.bulk_create(Step(**row) for row in self.steps)
        Attempt.objects.bulk_create(Attempt(**row) for row in self.attempts)
        Turn.objects.filter(pk=self.turn["id"], status="running").update(lease_until=None, owner="")


@pytest.mark.parametrize("backed_up", ["queued", "running"])
@pytest.mark.parametrize("attempts", [1, 3])
def test_a_database_put_back_under_a_live_redis_does_not_mix_old_words_with_new(
    turn: Turn, backed_up: str, attempts: int
) -> None:
    """The same turn goes on from the backup, while Redis still has what was said after it was made."""
    backup = PutBack(turn)
    for number in range(attempts):
        worker = FakeWorker(turn, owner=f"old {number}")
        if number == 0 and backed_up == "running":
            backup = PutBack(turn)
        worker.open_step()
        worker.say("old words ", *"abcdefgh", apart=True)
        if number < attempts - 1:
            worker.die()
    live = watch(turn)
    live.saw("old words")
    backup.restore()
    turn.refresh_from_db()
    worker = FakeWorker(turn, owner="new")
    worker.open_step()
    worker.say("new words")
    worker.finish()
    for entries in (live.result(), read_all(turn)):
        assert fold_turn(entry.body for entry in entries).text == "new words"
    assert [part["text"] for part in turn.steps.get().parts] == ["new words"]


def test_a_restored_backup_leaves_nothing_of_what_redis_had(turn: Turn) -> None:
    answer(turn, "old words")
    assert client().exists(event_log.stream_key(turn.pk))
    archive.forget_events()
    assert not client().exists(event_log.stream_key(turn.pk))
    assert fold_turn(entry.body for entry in read_all(turn)).text == "old words"


ENDS: list[Callable[..., bool]] = [jobs.mark_failed, jobs.force_cancel]


@pytest.mark.parametrize("end", ENDS)
def test_words_that_come_after_an_end_by_force_reach_no_reader(turn: Turn, end: Callable[..., bool]) -> None:
    """The worker has not heard yet that it lost the turn and goes on to say things."""
    worker = FakeWorker(turn)
    worker.open_step()
    worker.emit(ProseStarted("text", "s0-p0"), ProseDelta("text", "s0-p0", "half a "))
    worker.settle()
    live = watch(turn)
    live.saw("half a ")
    with transaction.atomic():
        assert end(Turn, turn.pk)
        worker.emit(ProseDelta("text", "s0-p0", "sentence too much"))
        worker.lease.emitter.flush(5)
    seen = fold_turn(entry.body for entry in live.result())
    assert seen.text == "half a" == Message.objects.get(pk=turn.answer_id).text.strip()
    assert worker.lease.stop.reason is StopReason.LOST
    assert fold_turn(entry.body for entry in read_all(turn)).text == "half a"


@pytest.mark.parametrize("end", ENDS)
def test_words_that_were_announced_and_never_stored_are_taken_back(
    turn: Turn, end: Callable[..., bool]
) -> None:
    """Redis told them on and refused to keep them, or lost them."""
    worker = FakeWorker(turn)
    worker.open_step()
    worker.emit(ProseStarted("text", "s0-p0"), ProseDelta("text", "s0-p0", "half a "))
    worker.settle()
    live = watch(turn)
    live.saw("half a ")
    at = live.entries[-1].at
    lost = Framed(ProseDelta("text", "s0-p0", "sentence too much")).encode()
    client().publish(
        event_log.stream_key(turn.pk), LoggedEvent(Position(at.attempt, at.seq + 1), at, lost).line()
    )
    live.saw("too much")
    assert end(Turn, turn.pk)
    bodies = [entry.body for entry in live.result()]
    assert fold_turn(bodies).text == "half a"
    assert protocol.is_end(bodies[-1])


@pytest.mark.parametrize("commits_between", [1, 10])
def test_a_commit_in_the_middle_of_a_snapshot_shows_nothing_twice(
    turn: Turn, commits_between: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL each query sees what is committed by then; a snapshot must not be made of two states."""
    from chat import replay

    worker = FakeWorker(turn)
    worker.open_step()
    worker.say("one")
    worker.ask_for("c0", "look", "{}")
    worker.commit_step()
    worker.answer_call("c0", {"n": 0})
    real, left = replay.committed_events, iter(range(commits_between))

    def interrupted(found: Turn) -> list[Any]:
        number = next(left, None)
        if number is not None and not connection.in_atomic_block:
            worker.open_step()
            worker.say(f"step {number}")
            worker.ask_for(f"d{number}", "look", "{}")
            worker.commit_step()
            worker.answer_call(f"d{number}", {"n": number})
            worker.settle()
        return real(found)

    monkeypatch.setattr(replay, "committed_events", interrupted)
    live = Watching(lambda: reader.read_compact(turn.pk))
    live.saw('"one"')
    worker.finish()
    message = Reducer().hear_all(entry.body for entry in live.result())
    texts = [part["text"] for part in message.parts if part["type"] == "text"]
    assert texts[0] == "one"
    assert texts == [step.text for step in turn.steps.all()]
    assert len(set(texts)) == len(texts)


# --- long answers ---------------------------------------------------------------------------------


async def test_a_late_reader_gets_a_long_part_in_few_chunks_none_of_them_huge() -> None:
    body = Framed(ProseDelta("text", "s0-p0", "word " * 100)).encode()
    places = [Position(1, number) for number in range(1_001)]
    batch = [LoggedEvent(places[n + 1], places[n], body) for n in range(1_000)]
    fewer = reader.merged(batch)
    assert 10 < len(fewer) < 30
    assert max(len(entry.body) for entry in fewer) <= limits.MAX_DELTA_CHARACTERS
    assert "".join(json.loads(entry.body)["delta"] for entry in fewer) == "word " * 100_000
    assert (fewer[0].after, fewer[-1].at) == (places[0], places[-1])
    assert all(left.at == right.after for left, right in pairwise(fewer))


def test_an_answer_of_any_length_is_replayed_in_deltas_that_can_be_sent() -> None:
    text = "ä" * (limits.MAX_DELTA_CHARACTERS * 2 + 1)
    deltas = list(prose_deltas("text", "s0-p0", text))
    assert [len(delta.text) for delta in deltas] == [limits.MAX_DELTA_CHARACTERS] * 2 + [1]
    assert "".join(delta.text for delta in deltas) == text
    assert list(prose_deltas("text", "s0-p0", "")) == []
