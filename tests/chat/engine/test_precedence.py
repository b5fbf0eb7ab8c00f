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
