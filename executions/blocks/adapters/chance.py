"""Chance, as a port."""

from __future__ import annotations

import random


class KeyedRandom:
    """The same key throws the same dice, so that a second attempt of a node run picks what the first did."""

    def generator(self, key: str) -> random.Random:
        return random.Random(key)  # noqa: S311 - sampling, not secrets
