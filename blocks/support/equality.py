"""Equality of JSON values: numbers by value, true is not 1, key order does not matter."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from blocks.errors import BlockFailed
from blocks.schema import JSON


def same(left: JSON, right: JSON) -> bool:
    return equality_key(left) == equality_key(right)


def equality_key(value: JSON) -> Hashable:
    """Return a hashable key that is equal for equal values; raise BlockFailed for excessive nesting."""
    try:
        return _key(value)
    except RecursionError:
        raise BlockFailed("A value is nested too deeply to be compared.") from None


def find_index(values: Sequence[JSON], wanted: JSON) -> int | None:
    """Return the index of the first value that equals `wanted`, or None."""
    key = equality_key(wanted)
    return next((index for index, value in enumerate(values) if equality_key(value) == key), None)


def distinct(values: Iterable[JSON]) -> list[JSON]:
    """Return the values without duplicates, in order."""
    found: dict[Hashable, JSON] = {}
    for value in values:
        found.setdefault(equality_key(value), value)
    return list(found.values())


def _key(value: JSON) -> Hashable:
    plain: Hashable = value
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("list", tuple(_key(item) for item in value))
        case dict():
            return ("object", frozenset((name, _key(item)) for name, item in value.items()))
        case _:
            return plain  # text, numbers and null: Python compares them as JSON does
