"""Values that can travel: JSON that every database and client takes."""

from __future__ import annotations

import math
from typing import Any

from durable import limits
from executions.blocks.schema import JSON

REPLACEMENT = "\ufffd"


def make_storable(value: JSON) -> JSON:
    """The value, with characters no database takes replaced; raises ValueError for what has no JSON form."""
    return _repair(value) if _needs_repair(value) else value


def _needs_repair(value: JSON) -> bool:
    """One walk without recursion: most values are fine and are not copied."""
    broken = False
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        kind = type(item)
        if kind is str:
            broken = broken or _is_broken(item)
        elif kind is list or kind is dict:
            if depth >= limits.MAX_VALUE_DEPTH:
                raise ValueError("it is nested too deeply")
            if kind is list:
                stack.extend((member, depth + 1) for member in item)
                continue
            for key, member in item.items():
                if type(key) is not str:
                    raise ValueError(f"an object has the key {key!r}, which is no text")
                broken = broken or _is_broken(key)
                stack.append((member, depth + 1))
        elif kind is float:
            if not math.isfinite(item):
                raise ValueError("infinity and NaN have no JSON form")
        elif item is not None and kind is not int and kind is not bool:
            raise ValueError(f"{kind.__name__} has no JSON form")
    return broken


def _is_broken(text: str) -> bool:
    """Whether it holds NUL or half a character."""
    if "\0" in text:
        return True
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _repair(value: JSON) -> JSON:
    match value:
        case str():
            return (
                value.replace("\0", REPLACEMENT).encode("utf-8", "replace").decode()
                if _is_broken(value)
                else value
            )
        case list():
            return [_repair(member) for member in value]
        case dict():
            return {_repair(key): _repair(member) for key, member in value.items()}
        case _:
            return value
