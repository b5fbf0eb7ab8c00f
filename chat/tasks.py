"""Celery tasks of the chat; each names a row."""

from __future__ import annotations

import gc
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from celery import shared_task, signals

import llm
from chat import engine, limits, titles
from chat.models import Turn
from durable.per_process import PerProcess
from durable.runtime import runtime
from tools import limits as tools_limits
from tools import registry

_warmed = threading.Event()  # turns wait for it: two threads must not import the same modules at once
_warmed.set()
_wanted = threading.Event()  # a turn has come


@shared_task(name="chat.run_turn")
def run_turn(turn_id: str) -> None:
    """Run one turn. A duplicate delivery finds the lease held and returns."""
    _wanted.set()
    _warmed.wait(tools_limits.LOAD_SECONDS)
    with starts().starting() as starting:
        runtime().run(
            Turn, uuid.UUID(turn_id), partial(engine.run, asked=starting.done, before_end=starts().let_pass)
        )


@shared_task(name="chat.make_title")
def make_title(session_id: str) -> None:
    """Give a session without a title one."""
    titles.make_title(uuid.UUID(session_id))


@signals.celeryd_after_setup.connect
def hold_turns(**kwargs: Any) -> None:
    """Let turns wait before the first one can come: the sweep starts while `worker_ready` is still being sent."""
    _warmed.clear()


@signals.worker_ready.connect
def warm_up(sender: Any = None, **kwargs: Any) -> None:
    """Load the model client, the tools and the sandbox's self-test before the first turn comes.

    It begins a moment later, when the processes that start beside this one no longer need the processor. Workers
    that run no turns load them at their first use.
    """
    if sender is not None and Turn.queue not in sender.app.amqp.queues.consume_from:
        _warmed.set()
        return

    def load() -> None:
        try:
            _wanted.wait(tools_limits.WARM_UP_DELAY_SECONDS)
            llm.warm_up()
            registry.prepare()
            gc.freeze()  # a full collection of what is loaded would stop all streams for a tenth of a second
        finally:
            _warmed.set()

    _warmed.clear()
    threading.Thread(target=load, name="warm-up", daemon=True).start()


# --- starts go before ends ------------------------------------------------------------------------


class Starts:
    """The turns of this process between their poke and the first word of their answer.

    Few of them start at once, one after the other in the order of their pokes: more would only wait for the interpreter
    and the database, and all would be late. A start that takes long does not hold up the next ones.
    """

    def __init__(self) -> None:
        self._places = threading.Semaphore(limits.STARTS_AT_ONCE)
        self._starting: set[object] = set()
        self._fewer = threading.Condition()

    @contextmanager
    def starting(self) -> Iterator[StartingTurn]:
        """Count a turn as starting until its `done` is called, at the latest at the end of the block."""
        turn = StartingTurn(self)
        with self._fewer:
            self._starting.add(turn)
        turn.has_place = self._places.acquire(timeout=limits.START_WAITS_SECONDS)
        try:
            yield turn
        finally:
            turn.done()

    def let_pass(self) -> bool:
        """Wait until no turn is starting, END_WAITS_SECONDS at most; return False if some still are."""
        with self._fewer:
            return self._fewer.wait_for(lambda: not self._starting, limits.END_WAITS_SECONDS)

    def remove(self, turn: StartingTurn) -> None:
        if turn.has_place:
            self._places.release()
        with self._fewer:
            self._starting.discard(turn)
            if not self._starting:
                self._fewer.notify_all()


class StartingTurn:
    """One turn that is starting."""

    def __init__(self, starts: Starts) -> None:
        self._starts = starts
        self._is_done = False
        self.has_place = False

    def done(self) -> None:
        """Note that it has started: its first word has come, or it has ended. May be called again."""
        if not self._is_done:
            self._is_done = True
            self._starts.remove(self)


starts = PerProcess(Starts)
