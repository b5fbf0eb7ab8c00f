"""Precedence of turns that start over turns that end: an end waits a moment for the first words of others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from chat import limits
from durable.fork_safe import PerProcess


class Starts:
    """The turns of this process between their poke and the first word of their answer."""

    def __init__(self) -> None:
        self._starting: set[object] = set()
        self._fewer = threading.Condition()

    @contextmanager
    def starting(self) -> Iterator[StartingTurn]:
        """Count a turn as starting until its `done` is called, at the latest at the end of the block."""
        turn = StartingTurn(self)
        with self._fewer:
            self._starting.add(turn)
        try:
            yield turn
        finally:
            turn.done()

    def let_pass(self) -> bool:
        """Wait until no turn is starting, END_WAITS_SECONDS at most; return False if some still are."""
        with self._fewer:
            return self._fewer.wait_for(lambda: not self._starting, limits.END_WAITS_SECONDS)

    def remove(self, turn: StartingTurn) -> None:
        with self._fewer:
            self._starting.discard(turn)
            if not self._starting:
                self._fewer.notify_all()


class StartingTurn:
    """One turn that is starting."""

    def __init__(self, starts: Starts) -> None:
        self._starts = starts
        self._is_done = False

    def done(self) -> None:
        """Note that it has started: its first word has come, or it has ended. May be called again."""
        if not self._is_done:
            self._is_done = True
            self._starts.remove(self)


starts = PerProcess(Starts)
