"""What exists once per process, and anew in a forked child: lazily made values, and a background event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
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


class LoopThread:
    """A daemon thread that runs one event loop for the life of the process."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.futures: set[Future[Any]] = (
            set()
        )  # a loop holds its tasks weakly: without this one may just vanish
        self._thread = threading.Thread(target=self._run, name="background-loop", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


_thread = PerProcess(LoopThread)


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the process's loop, started at first use and again in a forked child."""
    return _thread().loop


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the background loop; cancelling the future cancels the coroutine."""
    thread = _thread()
    future = asyncio.run_coroutine_threadsafe(coroutine, thread.loop)
    thread.futures.add(future)
    future.add_done_callback(thread.futures.discard)
    return future
