"""Pauses between the tries of something that fails for a while."""

from __future__ import annotations


class Backoff:
    """Pauses that double, from `first` to `longest` seconds, until `reset`."""

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def next(self) -> float:
        """Return the seconds to pause now."""
        pause, self._next = self._next, min(2 * self._next, self._longest)
        return pause

    def reset(self) -> None:
        """Begin again with the first pause, after a success."""
        self._next = self._first
