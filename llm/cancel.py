"""A cancel signal made of a flag and its callbacks, for callers that have no job of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable


class CancelFlag:
    """Set once, from any thread; each callback is called exactly once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = False
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        with self._lock:
            self._set = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()

    def add_callback(self, fn: Callable[[], None]) -> Callable[[], None]:
        with self._lock:
            if not self._set:
                key = self._next
                self._next += 1
                self._callbacks[key] = fn
                return lambda: self._remove(key)
        fn()
        return lambda: None

    def _remove(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)
