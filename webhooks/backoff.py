"""When the next try of a delivery is, after so many that failed."""

from __future__ import annotations

import random

from durable import limits


def pause_before(tries: int, *, asked_for: float = 0.0) -> float | None:
    """Seconds until the next try after `tries` failed ones; None when there is none.

    5 s, 20 s, 80 s ... 8 h, ten tries over about a day. Jitter keeps the tries after an outage from coming at once;
    a receiver that asks for more patience (`Retry-After`) gets it, up to the longest pause.
    """
    if tries >= limits.WEBHOOK_TRIES:
        return None
    longest = limits.WEBHOOK_LONGEST_PAUSE_SECONDS
    pause = min(limits.WEBHOOK_FIRST_PAUSE_SECONDS * limits.WEBHOOK_PAUSE_FACTOR ** (tries - 1), longest)
    jitter = random.uniform(1 - limits.WEBHOOK_JITTER, 1 + limits.WEBHOOK_JITTER)  # noqa: S311
    return max(pause * jitter, min(asked_for, longest))
