"""A circuit breaker: after a failure calls are refused for a while, then one probe decides."""

from __future__ import annotations

import threading
import time

from durable import limits


class CircuitBreaker:
    """Allow a few concurrent calls while they succeed. After a failure, callers in line give up at once."""

    def __init__(self, calls_at_once: int) -> None:
        self._calls_at_once = calls_at_once
        self._in_flight = 0
        self._retry_at: float | None = None  # None while closed
        self._changed = threading.Condition()

    def enter(self, *, seconds: float) -> bool:
        """Wait for a free slot and return whether the caller may proceed; it must report back with `leave`."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_open or self._has_place, timeout=seconds)
            if self._is_open:
                return self._probe()
            if not self._has_place:
                return False
            self._in_flight += 1
            return True

    def leave(self, *, succeeded: bool) -> None:
        with self._changed:
            self._in_flight -= 1
            self._retry_at = None if succeeded else time.monotonic() + limits.BROKER_PAUSE_SECONDS
            self._changed.notify_all()

    @property
    def is_open(self) -> bool:
        """Return whether calls are refused, or allowed only as a probe."""
        with self._changed:
            return self._is_open

    def _probe(self) -> bool:
        """Let one call through when the pause is over; others are refused until it returns."""
        now = time.monotonic()
        if self._retry_at is None or now < self._retry_at:
            return False
        self._retry_at = now + limits.BROKER_PAUSE_SECONDS
        self._in_flight += 1
        return True

    @property
    def _is_open(self) -> bool:
        return self._retry_at is not None

    @property
    def _has_place(self) -> bool:
        return self._in_flight < self._calls_at_once
