"""How often a worker sweeps: in every round of its loop while there is work, rarely at rest."""

from __future__ import annotations

from durable import limits


class SweepPace:
    """Counts the rounds between two sweeps: one while jobs move, then 2, 4 … `limits.REST_ROUNDS` at rest."""

    def __init__(self) -> None:
        self._rounds = 1  # between two sweeps
        self._left = 0  # until the next one
        self._asked = False

    def hurry(self) -> None:
        """Sweep in the next round; any thread may call this."""
        self._asked = True

    def wants_sweep(self) -> bool:
        """Return whether this round sweeps; call it once per round."""
        if self._asked:
            self._asked, self._rounds, self._left = False, 1, 0
        self._left -= 1
        return self._left < 0

    def swept(self, *, at_rest: bool) -> None:
        """Decide how many rounds pass without a sweep."""
        self._rounds = min(2 * self._rounds, limits.REST_ROUNDS) if at_rest else 1
        self._left = self._rounds - 1
