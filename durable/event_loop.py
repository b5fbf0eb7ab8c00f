"""One asyncio loop per process, in its own thread, for the network waits of synchronous code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from durable.fork_safe import PerProcess

T = TypeVar("T")


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
