"""Notes that break a long silence: what is being waited for, after 10, 30 and 60 seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from durable import limits
from durable.loop import background_loop


class Silence:
    """Counts the time since the last sign of life and speaks up through `say` when it gets long.

    `touch` is cheap: it only notes the time; one timer per wait looks at it now and then.
    """

    def __init__(self, say: Callable[[str, int], None], waiting_for: str) -> None:
        self._say = say
        self._waiting_for = waiting_for
        self._touched_at = time.monotonic()
        self._said = 0
        self._timer: asyncio.TimerHandle | None = None
        self._over = False

    def touch(self) -> None:
        self._touched_at = time.monotonic()
        self._said = 0

    def __enter__(self) -> Silence:
        background_loop().call_soon_threadsafe(self._arm)
        return self

    def __exit__(self, *exc: object) -> None:
        self._over = True
        background_loop().call_soon_threadsafe(self._disarm)

    def _arm(self) -> None:
        if self._over or self._said >= len(limits.SILENCE_NOTES_SECONDS):
            delay = limits.SILENCE_NOTES_SECONDS[0]
        else:
            delay = self._touched_at + limits.SILENCE_NOTES_SECONDS[self._said] - time.monotonic()
        if not self._over:
            self._timer = background_loop().call_later(max(delay, 0.01), self._look)

    def _look(self) -> None:
        silent = time.monotonic() - self._touched_at
        notes = limits.SILENCE_NOTES_SECONDS
        if not self._over and self._said < len(notes) and silent >= notes[self._said]:
            self._said += 1
            self._say(self._waiting_for, int(silent))
        self._arm()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
