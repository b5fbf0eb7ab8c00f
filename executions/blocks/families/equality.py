"""When two JSON values are the same: numbers by value, true is not 1, objects whatever their order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from executions.blocks.errors import BlockFailed
from executions.blocks.schema import JSON


def same(left: JSON, right: JSON) -> bool:
    return equality_key(left) == equality_key(right)


def equality_key(value: JSON) -> Hashable:
    """Something hashable that is equal for equal values; raises BlockFailed for values nested too deeply."""
    try:
        return _key(value)
    except RecursionError:
        raise BlockFailed("A value is nested too deeply to be compared.") from None


def distinct(values: Iterable[JSON]) -> list[JSON]:
    """The first of each group of equal values, in order."""
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
