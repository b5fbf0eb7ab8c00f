"""A limited number of places per person, such as open sockets, shared by all processes."""

from __future__ import annotations

import time

from durable.redis import RedisError, answer, async_client, key


class Places:
    """One holder's place among at most `most` under a name; it lapses unless it is kept.

    A holder that dies without a word gives its place back after `seconds`. Without Redis everyone gets one.
    """

    def __init__(self, name: str, holder: str, *, most: int, seconds: float) -> None:
        self._key = key("places", name)
        self._holder = holder
        self._most = most
        self._seconds = seconds

    async def take(self) -> bool:
        """Whether there was a free place; the first to come keep theirs."""
        try:
            if await self._note() <= self._most:
                return True
            await self.leave()
        except (RedisError, OSError):
            return True
        return False

    async def keep(self) -> None:
        """Say that the place is still in use."""
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
