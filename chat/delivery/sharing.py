"""What several readers hold at once is held once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Shared(Generic[K, V]):
    """Values by key, for as long as somebody holds them: many slow readers of one long answer cost as much as one."""

    def __init__(self) -> None:
        self._held: WeakValueDictionary[tuple[int, K], Any] = WeakValueDictionary()
        self._locks: WeakValueDictionary[tuple[int, K], asyncio.Lock] = WeakValueDictionary()

    async def get(self, key: K, load: Callable[[], Awaitable[V]]) -> V:
        """The value somebody holds, else a loaded one; for what does not change any more."""
        place = (id(asyncio.get_running_loop()), key)  # a lock is good for one loop only
        lock = self._locks.setdefault(place, asyncio.Lock())
        async with lock:  # those that come together load once
            found: V | None = self._held.get(place)
            if found is None:
                found = await load()
                if found is not None:
                    self._held[place] = found
            return found
