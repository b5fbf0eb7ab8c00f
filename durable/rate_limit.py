"""Rate limits, counted in Redis for all processes."""

from __future__ import annotations

import time

from durable.redis import RedisError, client, key


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
