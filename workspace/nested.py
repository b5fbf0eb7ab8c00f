"""Walking JSON-like values without recursion, so that depth is no danger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def strings_in(value: Any) -> Iterator[str]:
    """Every string in a value, depth first in reading order; keys are not values."""
    stack = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            stack.extend(reversed(list(current.values())))
        elif isinstance(current, (list, tuple)):
            stack.extend(reversed(current))


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """The same value with every string changed; the given one is left as it was."""
    root: list[Any] = [None]
    stack: list[tuple[Any, Any, Any]] = [(root, 0, value)]
    while stack:
        holder, place, current = stack.pop()
        if isinstance(current, str):
            holder[place] = change(current)
        elif isinstance(current, dict):
            copy: Any = dict.fromkeys(current)
            holder[place] = copy
            stack.extend((copy, key, inner) for key, inner in reversed(current.items()))
        elif isinstance(current, (list, tuple)):
            copy = [None] * len(current)
            holder[place] = copy
            stack.extend((copy, index, current[index]) for index in reversed(range(len(current))))
        else:
            holder[place] = current
    return root[0]
