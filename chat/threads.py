"""Threads for work that would block the event loop: database access and the parsing of long frames."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from channels.db import DatabaseSyncToAsync

from chat import limits
from durable.per_process import PerProcess

P = ParamSpec("P")
T = TypeVar("T")

_parser = PerProcess(lambda: ThreadPoolExecutor(1, thread_name_prefix="parser"))
_threads = PerProcess(lambda: ThreadPoolExecutor(limits.DELIVERY_THREADS, thread_name_prefix="delivery"))


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work in a pool of threads; its database connection is released afterwards.

    Channels' own helper runs the work of all sockets on one thread, where one slow call would block the others.
    """
    return await DatabaseSyncToAsync(work, thread_sensitive=False, executor=_threads())(*args, **kwargs)


async def in_parser_thread(work: Callable[[str], T], text: str) -> T:
    """Parse on a single thread: the JSON parser holds the interpreter, and several at once would stop the loop."""
    return await asyncio.get_running_loop().run_in_executor(_parser(), work, text)
