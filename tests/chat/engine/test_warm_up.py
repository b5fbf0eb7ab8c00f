"""What a worker loads before its first turn."""

from __future__ import annotations

import threading

import pytest

import llm
from chat import tasks
from tools import registry

SECONDS = 20.0


def test_turns_wait_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(llm, "warm_up", lambda: go_on.wait(SECONDS))
    monkeypatch.setattr(registry, "prepare", lambda: None)
    tasks.warm_up()
    assert not tasks._warmed.is_set()
    go_on.set()
    assert tasks._warmed.wait(SECONDS)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_one_that_fails_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ImportError("no such library")

    monkeypatch.setattr(llm, "warm_up", fail)
    tasks.warm_up()
    assert tasks._warmed.wait(SECONDS)
