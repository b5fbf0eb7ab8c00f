"""A step of more events than the log in Redis keeps: late readers get its text, at a bounded cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from itertools import pairwise

import pytest

from chat import turns
from chat.delivery import reader
from chat.events import AttemptStarted, ProseDelta, ProseStarted
from chat.models import Step, Turn
from chat.protocol import Framed
from durable import event_log, jobs, limits
from durable.event_log import START, LoggedEvent, Position
from durable.models import EventPage
from durable.redis import client
from tests.chat.delivery.fake_worker import FakeWorker
from tests.durable.conftest import eventually

EVENTS = 50_000
READ_SECONDS = 60


@pytest.fixture(autouse=True)
def every_event_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_MERGED_EVENTS", 0)


@pytest.fixture
def small_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_LOG_ENTRIES", 400)
    monkeypatch.setattr(limits, "OPEN_PAGE_EVENTS", 100)


def talk(worker: FakeWorker, count: int) -> str:
    """Open a step and say that many words, without a commit; return what was said."""
    worker.open_step()
    part_id = f"s{worker.step}-p0"
    worker.emit(ProseStarted("text", part_id))
    return go_on(worker, count)


def go_on(worker: FakeWorker, count: int, *, first: int = 0) -> str:
    words = [f"word{number} " for number in range(first, first + count)]
    for word in words:
        worker.emit(ProseDelta("text", f"s{worker.step}-p0", word))
    assert worker.lease.emitter.flush(READ_SECONDS)
    return "".join(words)


def saved(worker: FakeWorker) -> bool:
    """Whether what the log may drop has reached the database."""
    return not worker.lease.emitter.has_many_open


def text_of(entries: list[LoggedEvent]) -> str:
    chunks = [json.loads(entry.body) for entry in entries]
    return "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


def read_until(turn: Turn, text: str, *, after: Position = START, compact: bool = False) -> list[LoggedEvent]:
    async def collect() -> list[LoggedEvent]:
        entries: list[LoggedEvent] = []
        batches = reader.read_compact(turn.pk) if compact else reader.read(turn.pk, after=after)
        async with asyncio.timeout(READ_SECONDS), aclosing(batches):
            async for batch in batches:
                entries += batch
                if len(text_of(entries)) >= len(text):
                    break
        return entries

    return asyncio.run(collect())


def test_a_late_reader_of_a_step_of_fifty_thousand_events_sees_exactly_its_text(turn: Turn) -> None:
    worker = FakeWorker(turn)
    said = talk(worker, EVENTS)
    eventually(lambda: saved(worker), what="the open pages")
    assert client().xlen(event_log.stream_key(turn.pk)) < EVENTS / 2
    assert text_of(read_until(turn, said)) == said
    compact = read_until(turn, said, compact=True)
    assert text_of(compact) == said
    assert len(compact) < EVENTS / 100


def test_a_reader_resumes_anywhere_in_a_long_step(turn: Turn, small_log: None) -> None:
    worker = FakeWorker(turn)
    said = talk(worker, 1_500)
    eventually(lambda: saved(worker), what="the open pages")
    whole = read_until(turn, said)
    for place in (10, 700, 1_200, 1_450):
        rest = text_of(whole[place + 1 :])
        assert read_until(turn, rest, after=whole[place].at) == whole[place + 1 :]


def test_the_commit_of_a_long_step_leaves_each_event_once(turn: Turn, small_log: None) -> None:
    worker = FakeWorker(turn)
    said = talk(worker, 1_500)
    eventually(lambda: saved(worker), what="the open pages")
    worker.parts = [{"kind": "text", "text": said}]
    worker.finish()
    assert not EventPage.objects.filter(open=True).exists()
    entries = event_log.stored(turn.pk)
    assert len({entry.at for entry in entries}) == len(entries)
    assert text_of(entries) == said
    client().delete(event_log.stream_key(turn.pk))
    assert text_of(read_until(turn, said)) == said


def test_the_next_attempt_voids_what_was_stored_of_a_long_step(turn: Turn, small_log: None) -> None:
    dead = FakeWorker(turn)
    talk(dead, 1_500)
    eventually(lambda: saved(dead), what="the open pages")
    dead.die()
    worker = FakeWorker(turn, owner="next")
    said = talk(worker, 200)
    assert text_of(read_until(turn, said)) == said


def test_a_step_begun_again_voids_what_was_stored_of_it(turn: Turn, small_log: None) -> None:
    worker = FakeWorker(turn)
    talk(worker, 1_500)
    eventually(lambda: saved(worker), what="the open pages")
    worker.lease.emitter.reset(Framed(AttemptStarted(worker.lease.attempt, 0)))
    said = talk(worker, 1_500)
    eventually(lambda: saved(worker), what="the open pages")
    assert text_of(read_until(turn, said)) == said
    worker.parts = [{"kind": "text", "text": said}]
    worker.finish()
    assert text_of(event_log.stored(turn.pk)) == said


def test_a_long_step_that_is_given_up_keeps_what_was_shown(turn: Turn, small_log: None) -> None:
    worker = FakeWorker(turn)
    said = talk(worker, 1_500)
    eventually(lambda: saved(worker), what="the open pages")
    worker.die()
    assert jobs.mark_failed(Turn, turn.pk)
    assert Step.objects.get(turn=turn).text == said
    assert text_of(event_log.stored(turn.pk)) == said


def test_a_fenced_attempt_stores_nothing_of_its_step(turn: Turn, small_log: None) -> None:
    worker = FakeWorker(turn)
    Turn.objects.filter(pk=turn.pk).update(attempt=7)
    talk(worker, 150)
    eventually(lambda: worker.lease.stop.is_set(), what="the fence")
    assert not EventPage.objects.filter(open=True).exists()


def test_news_behind_a_hole_cost_no_reading_of_the_log_each(
    turn: Turn, small_log: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OPEN_PAGE_EVENTS", 10_000_000)
    reads: list[float] = []
    real = reader.ReaderPosition._from_log

    async def counted(place: reader.ReaderPosition) -> reader.Past:
        reads.append(asyncio.get_running_loop().time())
        return await real(place)

    monkeypatch.setattr(reader.ReaderPosition, "_from_log", counted)
    worker = FakeWorker(turn)
    talk(worker, 1_500)

    async def watch(more: Callable[[], object]) -> None:
        async with aclosing(reader.read(turn.pk)) as batches:
            watching = asyncio.ensure_future(anext(aiter(batches)))
            await asyncio.to_thread(more)
            await asyncio.wait([watching], timeout=limits.STATUS_CHECK_SECONDS)
            watching.cancel()
            await asyncio.wait([watching])

    asyncio.run(watch(lambda: [go_on(worker, 1, first=number) for number in range(300)]))
    pauses = [later - earlier for earlier, later in pairwise(reads[1:])]
    assert all(pause >= limits.STATUS_CHECK_SECONDS / 2 for pause in pauses)
    turns.stop(turn)
