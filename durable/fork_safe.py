"""Values that each process has one of, also after a fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Create the value at first use, and again in a forked child, whose copy of the lock may be held for ever."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: T | None = None
        os.register_at_fork(after_in_child=self._forget)

    def __call__(self) -> T:
        if (made := self._made) is not None:
            return made
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._made = None
