"""Database work for code in the event loop, on threads of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from channels.db import DatabaseSyncToAsync

from durable import limits
from durable.process import PerProcess

P = ParamSpec("P")
T = TypeVar("T")

_threads = PerProcess(lambda: ThreadPoolExecutor(limits.DELIVERY_THREADS, thread_name_prefix="delivery"))


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work without holding up the loop; its database connection is given back afterwards.

    Channels' own way puts all sockets of a process on one thread, where one slow cancel would hold up everyone.
    """
    return await DatabaseSyncToAsync(work, thread_sensitive=False, executor=_threads())(*args, **kwargs)
