"""Short texts for whoever waits for them in another process: put once by id, taken once. Redis may lose them."""

from __future__ import annotations

import uuid

from durable import event_log
from durable.redis import RedisError, answer, async_client, client, key
from durable.wait import wait_on_loop


def put(box: uuid.UUID, text: str, *, seconds: int) -> bool:
    """Put a text where `take` waits for it; return False if it cannot be kept. It is kept for some seconds."""
    try:
        client().set(key("mail", box), text, ex=seconds)
    except (RedisError, OSError):
        return False
    event_log.nudge(box)
    return True


async def take(box: uuid.UUID, *, seconds: float) -> str | None:
    """Return the text once it is there, and remove it; None if it does not come in time."""

    async def look() -> str | None:
        try:
            found = await answer(async_client().getdel(key("mail", box)))
        except (RedisError, OSError):
            return None
        return None if found is None else str(found)

    return await wait_on_loop(box, look, seconds=seconds)
