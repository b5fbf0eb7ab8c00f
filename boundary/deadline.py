"""One point in time that a whole exchange has to end by."""

from __future__ import annotations

import time
from dataclasses import dataclass

from boundary.errors import TooSlow


@dataclass(frozen=True, kw_only=True)
class Deadline:
    """Counts down over resolving, connecting, sending, every redirect and the body together."""

    ends_at: float  # of time.monotonic()

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(ends_at=time.monotonic() + seconds)

    def left(self, at_most: float | None = None) -> float:
        """Seconds that remain; raises TooSlow when there are none."""
        seconds = self.ends_at - time.monotonic()
        if seconds <= 0:
            raise TooSlow
        return seconds if at_most is None else min(seconds, at_most)
