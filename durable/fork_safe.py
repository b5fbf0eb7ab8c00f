"""What a forked child must have of its own: values that exist once per process, and database connections."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import connections

T = TypeVar("T")
_inherited: list[Any] = []  # kept for ever: collecting them would close the parent's sessions


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


def leave_connections_behind() -> None:
    """Give this process its own connections; two processes on one socket would read each other's answers."""
    for alias in list(connections):
        found: Any = getattr(connections._connections, alias, None)  # type: ignore[attr-defined]
        pools: dict[str, Any] = getattr(_wrapper(alias), "_connection_pools", {})
        _inherited.append((found, dict(pools)))
        pools.clear()
        if found is not None:
            del connections[alias]


def _wrapper(alias: str) -> Any:
    return type(connections[alias])
