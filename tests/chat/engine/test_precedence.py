"""Turns that start go before turns that end."""

from __future__ import annotations

import threading

import pytest

from chat import limits
from chat.tasks import Starts


def test_an_end_waits_until_the_others_have_asked_the_model() -> None:
    starts, passed = Starts(), threading.Event()
    assert starts.let_pass(), "nobody is starting"

    def end_turn() -> None:
        if starts.let_pass():
            passed.set()

    with starts.starting() as first, starts.starting() as second:
        end = threading.Thread(target=end_turn)
        end.start()
        first.done()
        assert not passed.wait(0.05)
        second.done()
        assert passed.wait(5)
        end.join()


def test_an_end_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "END_WAITS_SECONDS", 0.01)
    starts = Starts()
    with starts.starting():
        assert not starts.let_pass()
    assert starts.let_pass(), "a turn that ended is not starting"


def test_few_turns_start_at_once_and_the_next_follows_the_first_that_has_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "STARTS_AT_ONCE", 1)
    monkeypatch.setattr(limits, "START_WAITS_SECONDS", 60.0)
    starts, second_starts = Starts(), threading.Event()

    def start_second() -> None:
        with starts.starting():
            second_starts.set()

    with starts.starting() as first:
        thread = threading.Thread(target=start_second)
        thread.start()
        assert not second_starts.wait(0.05)
        first.done()
        first.done()  # a second call gives back no second place
        assert second_starts.wait(60)
        thread.join()
    assert starts._places._value == 1


def test_a_start_that_takes_long_does_not_hold_up_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STARTS_AT_ONCE", 1)
    monkeypatch.setattr(limits, "START_WAITS_SECONDS", 0.01)
    starts = Starts()
    with starts.starting(), starts.starting() as second:
        assert not second.has_place
    assert starts._places._value == 1
