"""Pauses between the attempts of a delivery."""

from __future__ import annotations

import random

from webhooks import limits


def pause_before(tries: int, *, asked_for: float = 0.0) -> float | None:
    """Return the seconds until the next attempt after `tries` failed ones; None after the last.

    5 s, 20 s, 80 s ... 8 h, ten attempts over about a day. Jitter spreads the attempts after an outage. A longer pause
    that the receiver asks for (`Retry-After`) is granted, up to the longest pause.
    """
    if tries >= limits.WEBHOOK_TRIES:
        return None
    longest = limits.WEBHOOK_LONGEST_PAUSE_SECONDS
    pause = min(limits.WEBHOOK_FIRST_PAUSE_SECONDS * limits.WEBHOOK_PAUSE_FACTOR ** (tries - 1), longest)
    jitter = random.uniform(1 - limits.WEBHOOK_JITTER, 1 + limits.WEBHOOK_JITTER)  # noqa: S311
    return max(pause * jitter, min(asked_for, longest))
