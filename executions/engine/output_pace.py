"""Decides when the outputs of a running execution are worth writing down."""

from __future__ import annotations

from executions import limits


class OutputPace:
    """The column of outputs is written whole, so it is written when a good part is new, or after a while.

    Written at every change, a run of many outputs would cost the square of them.
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
