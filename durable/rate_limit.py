"""Limits shared by all processes, counted in Redis: how often something is done, and by how many at once."""

from __future__ import annotations

import time

from durable.redis import RedisError, answer, async_client, client, key


def seconds_to_wait(name: str, *, most: int, per_seconds: int = 60) -> int:
    """Count one use of `name`; return 0 if it is allowed, else the seconds to wait. Without Redis all is allowed."""
    now = time.time()
    window = int(now // per_seconds)
    counter = key("rate", name, window)
    try:
        pipe = client().pipeline(transaction=False)
        pipe.incr(counter)
        pipe.expire(counter, 2 * per_seconds)
        used = pipe.execute()[0]
    except (RedisError, OSError):
        return 0
    return 0 if used <= most else max(1, round((window + 1) * per_seconds - now))


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
