"""Threads for what must not hold up the event loop: database work and the parsing of long frames."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from channels.db import DatabaseSyncToAsync

from durable import limits
from durable.process import PerProcess

P = ParamSpec("P")
T = TypeVar("T")

_parser = PerProcess(lambda: ThreadPoolExecutor(1, thread_name_prefix="parser"))
_threads = PerProcess(lambda: ThreadPoolExecutor(limits.DELIVERY_THREADS, thread_name_prefix="delivery"))


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work without holding up the loop; its database connection is given back afterwards.

    Channels' own way puts all sockets of a process on one thread, where one slow cancel would hold up everyone.
    """
    return await DatabaseSyncToAsync(work, thread_sensitive=False, executor=_threads())(*args, **kwargs)


async def in_parser_thread(work: Callable[[str], T], text: str) -> T:
    """Parse on the one thread for it: the JSON parser keeps the interpreter, many at once would stop the loop."""
    return await asyncio.get_running_loop().run_in_executor(_parser(), work, text)
