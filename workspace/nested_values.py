"""Walk JSON-like values without recursion, so that any depth is safe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def strings_in(value: Any) -> Iterator[str]:
    """Yield every string in a value in reading order, without keys."""
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
    """Return a copy of the value with every string changed."""
    root: list[Any] = [None]
    stack: list[tuple[Any, Any, Any]] = [(root, 0, value)]
    while stack:
        holder, key, current = stack.pop()
        if isinstance(current, str):
            holder[key] = change(current)
        elif isinstance(current, dict):
            copy: Any = dict.fromkeys(current)
            holder[key] = copy
            stack.extend((copy, name, inner) for name, inner in reversed(current.items()))
        elif isinstance(current, (list, tuple)):
            copy = [None] * len(current)
            holder[key] = copy
            stack.extend((copy, index, current[index]) for index in reversed(range(len(current))))
        else:
            holder[key] = current
    return root[0]
