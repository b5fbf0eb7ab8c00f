"""Order, merging, holding and voiding in the emitter: whatever happens, readers end with what was said."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from durable import limits
from durable.emitter import Emitter, UnsealedEvent
from durable.errors import LeaseLost
from durable.event_log import START, LoggedEvent
from tests.durable.conftest import eventually
from tests.durable.readers import Reader, text_of
from tests.durable.testjobs.events import Mark, Word


def make(attempt: int = 1) -> Emitter:
    return Emitter(uuid.uuid4(), attempt, after=START, wake=lambda emitter: None)


def taken(emitter: Emitter) -> list[LoggedEvent]:
    """What a writer would send now."""
    batch = emitter.drain()
    if batch:
        emitter.sent()
    return [pending.entry() for pending in batch]


# --- one at a time ------------------------------------------------------------------------------


def test_small_texts_that_wait_become_one_event() -> None:
    emitter = make()
    for word in ("never ", "loses ", "a turn"):
        emitter.emit(Word(text=word))
    (entry,) = taken(emitter)
    assert (str(entry.at), str(entry.after), entry.body) == ("1-1", "0-0", '{"text":"never loses a turn"}')


def test_a_text_that_was_sent_is_not_changed_any_more() -> None:
    emitter = make()
    emitter.emit(Word(text="a"))
    first = taken(emitter)
    emitter.emit(Word(text="b"))
    assert text_of(first) + text_of(taken(emitter)) == "ab"


def test_a_merged_event_has_a_limit() -> None:
    emitter = make()
    for _ in range(3 * limits.MAX_MERGED_EVENTS):
        emitter.emit(Word(text="x"))
    sent = taken(emitter)
    assert len(sent) == 3
    assert text_of(sent) == "x" * 3 * limits.MAX_MERGED_EVENTS


def test_a_hint_is_sent_and_not_stored() -> None:
    emitter = make()
    emitter.emit(Mark(text="a"))
    emitter.hint(Mark(text="?"))
    emitter.emit(Mark(text="b"))
    with emitter.committing() as entries:
        assert text_of(entries) == "ab"
    sent = taken(emitter)
    assert text_of(sent) == "a?b"
    assert sent[2].after == sent[0].at


def test_what_a_commit_announces_is_held_back_until_it_succeeded() -> None:
    emitter = make()
    emitter.emit(Mark(text="a"))
    with emitter.committing([Mark(text="committed")]) as entries:
        assert text_of(entries) == "acommitted"
        emitter.emit(Mark(text="meanwhile"))
        assert taken(emitter) == []
    assert text_of(taken(emitter)) == "acommittedmeanwhile"
    with emitter.committing() as entries:
        assert text_of(entries) == "meanwhile"


def test_a_rolled_back_commit_takes_its_announcement_back_and_the_rest_joins_on() -> None:
    emitter = make()
    emitter.emit(Mark(text="a"))
    with pytest.raises(ZeroDivisionError), emitter.committing([Mark(text="x"), Mark(text="y")]):
        emitter.emit(Word(text="b"))
        emitter.hint(Mark(text="?"))
        raise ZeroDivisionError
    emitter.emit(Mark(text="c"))
    reader = Reader()
    assert reader.take(taken(emitter))
    assert reader.text == "abc"
    with emitter.committing() as entries:
        assert text_of(entries) == "abc"


def test_a_lost_commit_silences_the_attempt() -> None:
    emitter = make()
    emitter.emit(Mark(text="a"))
    with pytest.raises(LeaseLost), emitter.committing([Mark(text="x")]):
        raise LeaseLost
    emitter.emit(Mark(text="b"))
    emitter.hint(Mark(text="b"))
    assert taken(emitter) == []
    assert emitter.flush(0)


def test_a_reset_voids_what_is_open_and_nothing_older() -> None:
    emitter = make()
    reader = Reader()
    emitter.emit(Mark(text="kept "))
    with emitter.committing():
        pass
    emitter.emit(Mark(text="half a sen"))
    assert reader.take(taken(emitter))
    emitter.emit(Mark(text="unsent"))
    emitter.reset(Mark(text="again: "))
    emitter.emit(Mark(text="whole"))
    sent = taken(emitter)
    assert reader.take(sent)
    assert reader.text == "kept again: whole"
    assert "unsent" not in text_of(sent)
    with emitter.committing() as entries:
        assert text_of(entries) == "again: whole"


def test_a_reset_waits_for_a_commit_under_way() -> None:
    emitter = make()
    emitter.emit(Mark(text="a"))
    reset = threading.Thread(target=emitter.reset, args=(Mark(text="reset "),), daemon=True)
    with emitter.committing() as entries:
        reset.start()
        reset.join(0.05)
        assert reset.is_alive()
        assert text_of(entries) == "a"
    reset.join(60)
    with emitter.committing() as entries:
        assert text_of(entries) == "reset "
    assert text_of(taken(emitter)) == "areset "


def test_a_reset_inside_the_work_of_a_commit_is_refused_instead_of_waiting_for_ever() -> None:
    emitter = make()
    with pytest.raises(RuntimeError), emitter.committing():
        emitter.reset(Mark(text="x"))


def test_an_event_that_cannot_be_written_down_is_refused_where_it_is_emitted() -> None:
    class Broken:
        def encode(self) -> str:
            raise TypeError("not JSON")

        def merge(self, later: Any) -> None:
            return None

    emitter = make()
    emitter.emit(Mark(text="a"))
    for send in (emitter.emit, emitter.hint):
        with pytest.raises(TypeError):
            send(Broken())
    emitter.emit(Mark(text="b"))
    reader = Reader()
    assert reader.take(taken(emitter))
    assert reader.text == "ab"


def test_a_half_surrogate_from_a_model_does_no_harm() -> None:
    emitter = make()
    emitter.emit(Word(text="\ud83d"))
    (entry,) = taken(emitter)
    assert entry.line().encode()


def test_a_batch_taken_back_goes_out_first_and_is_not_merged_into() -> None:
    emitter = make()
    emitter.emit(Word(text="a"))
    batch = emitter.drain()
    emitter.emit(Word(text="b"))
    emitter.restore(batch)
    emitter.emit(Word(text="c"))
    sent = taken(emitter)
    assert [entry.body for entry in sent] == ['{"text":"a"}', '{"text":"bc"}']
    emitter.emit(Word(text="d"))
    emitter.restore(_drain(emitter))
    emitter.emit(Word(text="e"))
    assert [entry.body for entry in taken(emitter)] == ['{"text":"d"}', '{"text":"e"}']


def test_without_redis_the_buffer_has_a_limit_and_open_events_are_still_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MAX_LOG_ENTRIES", 5)
    emitter = make()
    for number in range(9):
        emitter.emit(Mark(text=str(number)))
    emitter.restore(_drain(emitter))
    batch = emitter.drain()
    assert text_of(pending.entry() for pending in batch) == "45678"
    assert text_of(pending.entry() for pending in emitter.with_open(batch)) == "012345678"


def test_a_batch_for_a_closed_attempt_is_dropped() -> None:
    emitter = make()
    emitter.emit(Mark(text="a"))
    batch = emitter.drain()
    emitter.close()
    emitter.restore(batch)
    assert emitter.drain() == []
    assert emitter.flush(0)


def test_an_ended_attempt_takes_nothing_more_and_still_sends_what_it_has() -> None:
    emitter = make()
    emitter.emit(Word(text="a"))
    emitter.end()
    emitter.emit(Word(text="b"))
    emitter.hint(Mark(text="c"))
    assert text_of(taken(emitter)) == "a"


def test_flush_waits_for_the_writer_and_no_longer_than_it_is_told() -> None:
    emitter = make()
    emitter.emit(Mark(text="a"))
    assert not emitter.flush(0.01)
    emitter.drain()
    assert not emitter.flush(0.01)
    emitter.sent()
    assert emitter.flush(0)


def _drain(emitter: Emitter) -> list[UnsealedEvent]:
    batch = emitter.drain()
    assert batch
    return batch


# --- any order of things ------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("word"), st.text("ab", min_size=1, max_size=3)),
        st.tuples(st.just("mark"), st.text("cd", min_size=1, max_size=3)),
        st.tuples(st.just("hint"), st.just("?")),
        st.tuples(st.sampled_from(["reset", "commit", "rollback", "send", "fail", "lose"]), st.just("!")),
    ),
    max_size=40,
)


@given(STEPS)
@settings(deadline=None)
def test_live_readers_and_the_pages_agree_with_what_was_said(steps: list[tuple[str, str]]) -> None:
    """`fail`: Redis takes a batch and the answer is lost. `lose`: it forgets everything, and gets back what is open."""
    emitter = make()
    said: list[str] = []  # what stands of what was said, since the last commit
    kept: list[str] = []  # what was committed
    pages: list[LoggedEvent] = []
    log: dict[Any, LoggedEvent] = {}
    live = Reader()

    def deliver(entries: list[LoggedEvent]) -> None:
        log.update((entry.at, entry) for entry in entries if not log or entry.at > max(log))
        if not live.take(entries):
            assert live.take([entry for entry in pages if entry.at > live.at])
            assert live.take(sorted(log.values(), key=lambda entry: entry.at)), "a gap nobody can fill"

    for kind, text in steps:
        match kind:
            case "word":
                emitter.emit(Word(text=text))
                said.append(text)
            case "mark":
                emitter.emit(Mark(text=text))
                said.append(text)
            case "hint":
                emitter.hint(Mark(text=text))
            case "reset":
                emitter.reset(Mark(text="R"))
                said = ["R"]
            case "commit":
                with emitter.committing([Mark(text="C")]) as entries:
                    pages += entries
                kept += [*said, "C"]
                said = []
            case "rollback":
                with pytest.raises(ZeroDivisionError), emitter.committing([Mark(text="never")]):
                    raise ZeroDivisionError
            case "send":
                deliver(taken(emitter))
            case "fail":
                if batch := emitter.drain():
                    deliver([pending.entry() for pending in batch])
                    emitter.restore(batch)
            case "lose":
                log.clear()
                if batch := emitter.drain():
                    deliver([pending.entry() for pending in emitter.with_open(batch)])
                    emitter.sent()
    emitter.hint(Mark(text=""))
    deliver(taken(emitter))

    assert text_of(pages) == "".join(kept)
    assert live.text == "".join(kept + said)
    late = Reader()
    assert late.take(pages)
    assert late.take(sorted(log.values(), key=lambda entry: entry.at)) or late.text == "".join(kept)


def test_many_threads_commits_and_failures_lose_and_double_nothing() -> None:
    """Five threads talk, one commits, one writer sends with failures; a reader and the pages see each word once."""
    emitter = make()
    reader, pages = Reader(), list[LoggedEvent]()
    done = threading.Event()
    words = {f"{thread}.{number}" for thread in range(5) for number in range(200)}

    def talk(thread: int) -> None:
        for number in range(200):
            emitter.emit(Word(text=f"{thread}.{number} "))

    def commit() -> None:
        while not done.is_set():
            with emitter.committing() as entries:
                pages.extend(entries)

    def write() -> None:
        turn = 0
        while not done.is_set():
            turn += 1
            if batch := emitter.drain():
                if turn % 3 == 0:
                    emitter.restore(batch)
                    continue
                assert reader.take([pending.entry() for pending in batch])
                emitter.sent()

    talkers = [threading.Thread(target=talk, args=(number,)) for number in range(5)]
    others = [threading.Thread(target=commit), threading.Thread(target=write)]
    for thread in (*talkers, *others):
        thread.start()
    for thread in talkers:
        thread.join(60)
    try:
        eventually(lambda: emitter.flush(0.01), what="everything sent")
    finally:
        done.set()
        for thread in others:
            thread.join(60)
    with emitter.committing() as entries:
        pages.extend(entries)
    for text in (reader.text, text_of(pages)):
        assert sorted(text.split()) == sorted(words)
        for thread_number in range(5):
            own = [word for word in text.split() if word.startswith(f"{thread_number}.")]
            assert own == [f"{thread_number}.{number}" for number in range(200)]
