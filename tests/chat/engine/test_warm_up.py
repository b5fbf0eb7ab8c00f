"""What a worker loads before its first turn."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

import llm
from chat import tasks
from tools import registry

SECONDS = 20.0


class Queues(dict[str, None]):
    """Those that a worker consumes."""

    @property
    def consume_from(self) -> dict[str, None]:
        return self


def test_turns_wait_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(llm, "warm_up", lambda: go_on.wait(SECONDS))
    monkeypatch.setattr(registry, "prepare", lambda: None)
    tasks.warm_up()
    assert not tasks._warmed.is_set()
    go_on.set()
    assert tasks._warmed.wait(SECONDS)


def test_a_worker_that_runs_no_turns_loads_nothing_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "warm_up", lambda: pytest.fail("loaded"))
    sender = SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=Queues({"executions": None}))))
    tasks.warm_up(sender)
    assert tasks._warmed.is_set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_one_that_fails_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ImportError("no such library")

    monkeypatch.setattr(llm, "warm_up", fail)
    tasks.warm_up()
    assert tasks._warmed.wait(SECONDS)
