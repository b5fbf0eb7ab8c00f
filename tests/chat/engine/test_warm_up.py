"""What a worker loads before its first turn."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from celery import signals

import llm
from chat import tasks
from durable.ids import new_id
from tools import limits, registry

SECONDS = 120.0


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


def test_turns_wait_however_long_a_loaded_machine_takes_to_import(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, ran = threading.Event(), threading.Event()
    monkeypatch.setattr(llm, "warm_up", lambda: go_on.wait(SECONDS))
    monkeypatch.setattr(registry, "prepare", lambda: None)
    monkeypatch.setattr(limits, "WARM_UP_SECONDS", 0.01)
    monkeypatch.setattr(tasks, "runtime", lambda: FakeRuntime(ran))
    tasks.warm_up()
    turn = threading.Thread(target=tasks.run_turn, args=[str(new_id())], daemon=True)
    turn.start()
    assert not ran.wait(0.3)
    go_on.set()
    assert ran.wait(SECONDS)
    turn.join(SECONDS)


def test_turns_wait_before_the_first_one_can_come() -> None:
    """The sweep of a worker may run one as soon as the runtime is started, in the same signal that loads."""
    assert tasks.hold_turns in signals.celeryd_after_setup._live_receivers("worker")  # type: ignore[attr-defined]
    tasks.hold_turns()
    assert not tasks._warmed.is_set()
    tasks._warmed.set()


@dataclass
class FakeRuntime:
    """Only says that it was asked to run something."""

    ran: threading.Event

    def run(self, *job: object) -> None:
        self.ran.set()


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
