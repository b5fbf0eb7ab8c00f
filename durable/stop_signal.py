"""The one-way signal that tells a running job to stop, and why."""

from __future__ import annotations

import asyncio
import enum
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from durable.per_process import background_loop

logger = logging.getLogger(__name__)


class StopReason(enum.Enum):
    """Why a running job must stop."""

    CANCELLED = "cancelled"  # a person asked for it
    LOST = "lost"  # another attempt owns the job
    HAND_OVER = "hand_over"  # this worker shuts down and the grace is over
    TIMED_OUT = "timed_out"  # the job's own time cap


class StopSignal:
    """Set once, from any thread; waiting code is woken through callbacks."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self.reason: StopReason | None = None

    def set(self, reason: StopReason = StopReason.CANCELLED) -> None:
        """Set the signal; the first reason wins."""
        with self._lock:
            if self.reason is not None:
                return
            self.reason = reason
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:  # the other callbacks must run anyway
                logger.exception("A callback of a stop signal failed")

    @contextmanager
    def set_after(self, seconds: float, reason: StopReason) -> Iterator[None]:
        """Set the signal when the block has taken `seconds`."""
        loop = background_loop()
        timers: list[asyncio.TimerHandle] = []

        def start() -> None:
            timers.append(loop.call_later(seconds, self.set, reason))

        def cancel() -> None:
            timers[0].cancel()

        loop.call_soon_threadsafe(start)
        try:
            yield
        finally:
            loop.call_soon_threadsafe(cancel)

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep at most that long; return whether the signal was set."""
        return self._event.wait(seconds)

    def add_callback(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once when set, at once if it is set already; return a function that removes the callback."""
        with self._lock:
            if self.reason is None:
                self._callbacks.append(callback)
                return lambda: self._remove(callback)
        callback()
        return lambda: None

    def _remove(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)


leaving = (
    StopSignal()
)  # set when this process was asked to stop, so that waiting requests answer with the current state
