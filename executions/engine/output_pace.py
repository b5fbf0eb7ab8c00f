"""Pacing of writes of a running execution's outputs."""

from __future__ import annotations

from executions import limits


class OutputPace:
    """Decide when to write the outputs: when there are enough new ones, or after a while.

    The column is written as a whole, so writing it at every change would cost quadratic time.
    """

    def __init__(self, now: float) -> None:
        self._written = 0
        self._written_at = now

    def is_due(self, count: int, now: float) -> bool:
        """Return whether to write `count` outputs now; if so, they count as written."""
        if count == self._written:
            return False
        has_grown = count >= self._written * limits.OUTPUTS_GROWTH
        if not has_grown and now - self._written_at < limits.OUTPUTS_STALE_SECONDS:
            return False
        self._written, self._written_at = count, now
        return True
