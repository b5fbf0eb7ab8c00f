"""A limited number of slots per user, such as open sockets, shared by all processes."""

from __future__ import annotations

import time

from durable.redis import RedisError, answer, async_client, key


class SlotLimit:
    """One holder's slot among at most `most` under a name; it expires unless it is kept.

    The slot of a dead holder expires after `seconds`. Without Redis everyone gets one.
    """

    def __init__(self, name: str, holder: str, *, most: int, seconds: float) -> None:
        self._key = key("places", name)
        self._holder = holder
        self._most = most
        self._seconds = seconds

    async def take(self) -> bool:
        """Take a slot; return whether one was free."""
        try:
            if await self._note() <= self._most:
                return True
            await self.leave()
        except (RedisError, OSError):
            return True
        return False

    async def keep(self) -> None:
        """Extend the slot."""
        try:
            await self._note()
        except (RedisError, OSError):
            return

    async def leave(self) -> None:
        try:
            await answer(async_client().zrem(self._key, self._holder))
        except (RedisError, OSError):
            return

    async def _note(self) -> int:
        now = time.time()
        pipe = async_client().pipeline(transaction=True)
        pipe.zremrangebyscore(self._key, 0, now)
        pipe.zadd(self._key, {self._holder: now + self._seconds})
        pipe.zcard(self._key)
        pipe.expire(self._key, int(2 * self._seconds))
        answers = await answer(pipe.execute())
        return int(answers[2])
